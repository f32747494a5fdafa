// An element whose coder is known only at run time, as elements of other SDKs' pipelines are.
//
// What a coder reads and writes:
//
//   bool, varint, double, bytes or string_utf8        the value itself; a float is a double
//   nullable                                          nothing, or its component's
//   kv, sharded_key                                   a list of two: key and value; shard id and key
//   iterable, state_backed_iterable                   a list of its component's
//   global_window, interval_window, custom_window     a Window
//   windowed_value, param_windowed_value              WindowedFields
//   timer                                             TimerFields
//   length_prefix                                     its component's
//   row                                               a list of the fields in the schema's order; a map is a list of kv
#ifndef HORNBEAM_MODEL_BEAM_VALUE_H_
#define HORNBEAM_MODEL_BEAM_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/pane.h"
#include "model/window.h"

namespace hornbeam::model::beam {

struct Value;
struct WindowedFields;
struct TimerFields;

using List = std::vector<Value>;

struct Value {
  // Structs with values inside are shared and immutable, so that a value is small and can be copied.
  std::variant<std::monostate, bool, int64_t, double, std::string, Window, List, std::shared_ptr<const WindowedFields>,
               std::shared_ptr<const TimerFields>>
      is;

  bool is_null() const { return std::holds_alternative<std::monostate>(is); }
  // Null where the value is of another kind.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&is);
  }
};

struct WindowedFields {
  Value value;
  EventTime timestamp;
  std::vector<Window> windows;
  PaneInfo pane;
};

struct TimerFields {
  Value key;
  std::string tag;  // of a timer in a family
  std::vector<Window> windows;
  bool clears = false;  // if so, what follows is not written
  EventTime fire_timestamp;
  EventTime hold_timestamp;
  PaneInfo pane;
};

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_VALUE_H_
