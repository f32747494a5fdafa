// How a PCollection is windowed and grouped (beam_runner_api.proto, WindowingStrategy).
#ifndef HORNBEAM_MODEL_WINDOWING_STRATEGY_H_
#define HORNBEAM_MODEL_WINDOWING_STRATEGY_H_

#include <algorithm>

#include "base/status.h"
#include "model/time.h"
#include "model/trigger.h"
#include "model/window.h"

namespace hornbeam::model {

enum class AccumulationMode { kDiscarding, kAccumulating };
enum class TimestampCombiner { kEndOfWindow, kEarliest, kLatest };
// Whether the last pane of a window is put out although it is empty.
enum class ClosingBehavior { kFireIfNonEmpty, kFireAlways };
// Whether the on-time pane is put out although it is empty.
enum class OnTimeBehavior { kFireIfNonEmpty, kFireAlways };

struct WindowingStrategy {
  WindowFn window_fn;
  Trigger trigger;
  AccumulationMode accumulation_mode = AccumulationMode::kDiscarding;
  Duration allowed_lateness{};
  TimestampCombiner timestamp_combiner = TimestampCombiner::kEndOfWindow;
  ClosingBehavior closing_behavior = ClosingBehavior::kFireIfNonEmpty;
  OnTimeBehavior on_time_behavior = OnTimeBehavior::kFireAlways;
  // Windows of a WindowFn that merges have been merged by a grouping: from there on they are what they are.
  bool already_merged = false;

  bool merges() const { return window_fn.merges() && !already_merged; }
  friend bool operator==(const WindowingStrategy&, const WindowingStrategy&) = default;

  // When the window's state may go: its last instant and the allowed lateness, at the latest when time ends (Beam's garbage
  // collection time).
  EventTime ExpiresAt(const Window& window) const {
    return std::min(window.MaxTimestamp() + allowed_lateness, EventTime::EndOfGlobalWindow());
  }
  bool IsExpired(const Window& window, EventTime watermark) const { return watermark > ExpiresAt(window); }
  // INVALID_ARGUMENT for a bad trigger, a negative lateness, or a window function that cannot be.
  Status Validate() const;
  // INVALID_ARGUMENT for what can be grouped only at a loss, as in Beam: an unbounded collection that would fire at the end
  // of time alone, or a trigger that may finish before all has come.
  Status ValidateForGrouping(bool bounded) const;
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_WINDOWING_STRATEGY_H_
