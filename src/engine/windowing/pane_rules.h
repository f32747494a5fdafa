// When a pane is put out although it may be empty, and which timestamp it has: the rules that all groupings share (Beam's
// runners/core-java: ReduceFnRunner.needToEmit, WatermarkHold.addElementHold).
#ifndef HORNBEAM_ENGINE_WINDOWING_PANE_RULES_H_
#define HORNBEAM_ENGINE_WINDOWING_PANE_RULES_H_

#include <algorithm>

#include "engine/progress/holds.h"
#include "model/time.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

// Whether a pane is put out, when its trigger says so or its window closes. `may_be_on_time`: the watermark has passed the end of the
// window, no on-time pane has come, and this one would not be late for everybody.
inline bool HasPane(const model::WindowingStrategy& strategy, bool has_elements, bool is_last, bool may_be_on_time) {
  if (has_elements) return true;
  if (is_last && strategy.closing_behavior == model::ClosingBehavior::kFireAlways) return true;
  return may_be_on_time && strategy.on_time_behavior == model::OnTimeBehavior::kFireAlways;
}

// Of two timestamps of a pane, the one that the combiner takes. REQUIRES: it is not kEndOfWindow.
inline bool ComesFirst(model::TimestampCombiner combiner, model::EventTime a, model::EventTime b) {
  return combiner == model::TimestampCombiner::kEarliest ? a < b : a > b;
}

// Holds the pane's timestamp so far, if the element has a part in it. One behind the output watermark, as far as this pane holds it,
// has none: what is put out must not be late for what comes next. Without a hold the pane gets the end of its window.
// REQUIRES: `combiner` is not kEndOfWindow.
inline bool StampPane(model::TimestampCombiner combiner, model::EventTime timestamp, model::EventTime watermark, HoldSet* holds,
                      Hold* hold) {
  if (timestamp < (hold->is_held() ? std::min(hold->time(), watermark) : watermark)) return false;
  if (!hold->is_held()) {
    *hold = holds->HoldAt(timestamp);
  } else if (ComesFirst(combiner, timestamp, hold->time())) {
    hold->MoveTo(timestamp);
  }
  return true;
}

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_WINDOWING_PANE_RULES_H_
