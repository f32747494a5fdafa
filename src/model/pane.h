// Which firing of a window an element came from (Beam's PaneInfo).
#ifndef HORNBEAM_MODEL_PANE_H_
#define HORNBEAM_MODEL_PANE_H_

#include <cstdint>

namespace hornbeam::model {

enum class PaneTiming : uint8_t { kEarly = 0, kOnTime = 1, kLate = 2, kUnknown = 3 };  // as in Beam's PaneInfo encoding

struct PaneInfo {
  PaneTiming timing = PaneTiming::kUnknown;
  bool is_first = true;
  bool is_last = true;
  int64_t index = 0;                 // counts the panes of a key and window from 0
  int64_t on_time_index = 0;         // Beam's non-speculative index: counts from the on-time pane; -1 for early ones

  // An element that no trigger has fired: it has not yet been grouped.
  static PaneInfo NoFiring() { return {}; }
  friend bool operator==(const PaneInfo&, const PaneInfo&) = default;
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_PANE_H_
