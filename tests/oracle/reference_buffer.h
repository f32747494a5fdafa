// The reference's kBuffer: Beam's rules for a DoFn with state and an event timer
// (StatefulDoFnRunner, SimpleDoFnRunner).
#ifndef HORNBEAM_TESTS_ORACLE_REFERENCE_BUFFER_H_
#define HORNBEAM_TESTS_ORACLE_REFERENCE_BUFFER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/time.h"
#include "model/window.h"
#include "reference_grouping.h"

namespace hornbeam::oracle {

// Keeps the elements of each key and window, and puts them out when a timer at the end of the
// window fires, at the least of their timestamps, which the timer holds.
class ReferenceBuffer {
 public:
  // The values of a key and window, sorted, at `timestamp`.
  using Emit = std::function<void(const std::string& key, const model::Window& window,
                                  std::vector<int64_t> values, model::EventTime timestamp)>;

  ReferenceBuffer(model::Duration allowed_lateness, Emit emit)
      : allowed_lateness_(allowed_lateness), emit_(std::move(emit)) {}

  // An element whose window has expired is dropped. A timer whose time is over fires at once.
  void AddElement(const Element& element);
  // Returns the output watermark.
  model::EventTime AdvanceWatermark(model::EventTime watermark);

 private:
  struct Cell {
    std::vector<int64_t> values;
    model::EventTime first = model::EventTime::Max();
  };
  using Id = std::pair<model::Window, std::string>;

  void Fire(const Id& id, Cell cell);

  const model::Duration allowed_lateness_;
  const Emit emit_;
  std::map<Id, Cell> cells_;  // each has a timer
  model::EventTime watermark_ = model::EventTime::Min();
  model::EventTime output_watermark_ = model::EventTime::Min();
};

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_REFERENCE_BUFFER_H_
