// Beam's triggers as its Java runners have them (runners/core-java, triggers/*StateMachine), one
// object per node, key and window.
//
// Where Beam's SDKs differ, or its own code surprises, it says what the engine does
// (engine/windowing/trigger_machine.h):
//  - A processing-time trigger is ready as soon as the clock shows its deadline.
//  - Early and late triggers start anew as a whole after each firing, as in Python. In Java the
//  parts of a composite one stay
//    finished, so that it fires for each element from then on.
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
  // `merging`: windows may merge, so that parts which are over, or not yet on, may come on again.
  ReferenceTrigger(const model::Trigger& trigger, bool merging);

  void OnElement(const Moment& moment);
  bool ShouldFire(const Moment& moment) const;
  void OnFire(const Moment& moment);  // REQUIRES: ShouldFire(moment)
  // The window is closed to elements and fires no more.
  bool is_finished() const { return finished_; }
  // The trigger of a window that came of merging: `from` are those of the windows that it came of,
  // and this is as in the window itself where that was there already, and fresh otherwise. `moment`
  // is the merged window's.
  void Merge(const std::vector<const ReferenceTrigger*>& from, const Moment& moment);
  // A deadline lies in (after, now].
  bool IsDue(model::ProcessingTime after, model::ProcessingTime now) const;

 private:
  using Kind = model::Trigger::Kind;

  void Clear();  // what is counted
  void Reset();  // that, and what is finished
  void MergeAfterWatermark(const std::vector<const ReferenceTrigger*>& from, const Moment& moment);
  void MergeChildren(const std::vector<const ReferenceTrigger*>& from, const Moment& moment);
  void MergeInTurn(const std::vector<const ReferenceTrigger*>& from, const Moment& moment);
  ReferenceTrigger* FirstUnfinished();
  const ReferenceTrigger* FirstUnfinished() const;
  void FireAfterWatermark(const Moment& moment);
  static void FireAndStartAnew(ReferenceTrigger* child, const Moment& moment);

  Kind kind_;
  bool merging_;
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
