// Beam's triggers as its Java runners have them (runners/core-java, triggers/*StateMachine), one
// object per node, key and window.
//
// A processing-time trigger is ready as soon as the clock shows its deadline.
#ifndef HORNBEAM_TESTS_ORACLE_REFERENCE_TRIGGER_H_
#define HORNBEAM_TESTS_ORACLE_REFERENCE_TRIGGER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "model/time.h"
#include "model/trigger.h"

namespace hornbeam::oracle {

// What a trigger is asked about, beside its own past.
struct Moment {
  bool end_of_window_reached = false;  // the input watermark has passed the window's last instant
  model::ProcessingTime now;
};

class ReferenceTrigger {
 public:
  explicit ReferenceTrigger(const model::Trigger& trigger);

  void OnElement(const Moment& moment);
  bool ShouldFire(const Moment& moment) const;
  void OnFire(const Moment& moment);  // REQUIRES: ShouldFire(moment)
  // The window is closed to elements and fires no more.
  bool is_finished() const { return finished_; }
  // A deadline of a part that is running lies in (after, now].
  bool IsDue(model::ProcessingTime after, model::ProcessingTime now) const;

 private:
  using Kind = model::Trigger::Kind;

  void Reset();
  ReferenceTrigger* FirstUnfinished();
  const ReferenceTrigger* FirstUnfinished() const;
  void FireEarlyOrOnTime(const Moment& moment);
  static void FireAndStartAnew(ReferenceTrigger* child, const Moment& moment);

  Kind kind_;
  // Of an AfterWatermark with early or late firings: the early one (or Never), then the late one if
  // there is one. The early one is finished from the on-time firing on.
  std::vector<ReferenceTrigger> children_;
  int64_t count_wanted_ = 0;
  model::Duration delay_;
  bool finished_ = false;
  int64_t count_ = 0;
  std::optional<model::ProcessingTime> deadline_;
};

// The trigger behind a grouping (getContinuationTrigger).
model::Trigger ContinuationOf(const model::Trigger& trigger);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_REFERENCE_TRIGGER_H_
