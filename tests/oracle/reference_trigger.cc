#include "reference_trigger.h"

#include <algorithm>

namespace hornbeam::oracle {

using model::Trigger;

ReferenceTrigger::ReferenceTrigger(const Trigger& trigger)
    : kind_(trigger.kind), count_wanted_(trigger.count), delay_(trigger.delay) {
  if (kind_ == Kind::kAfterWatermark && trigger.has_late && !trigger.has_early) {
    children_.emplace_back(Trigger::Never());
  }
  for (const Trigger& child : trigger.children) children_.emplace_back(child);
}

void ReferenceTrigger::Reset() {
  finished_ = false;
  count_ = 0;
  deadline_.reset();
  for (ReferenceTrigger& child : children_) child.Reset();
}

const ReferenceTrigger* ReferenceTrigger::FirstUnfinished() const {
  const auto at = std::find_if(children_.begin(), children_.end(),
                               [](const ReferenceTrigger& child) { return !child.finished_; });
  return at == children_.end() ? nullptr : &*at;
}
ReferenceTrigger* ReferenceTrigger::FirstUnfinished() {
  return const_cast<ReferenceTrigger*>(
      static_cast<const ReferenceTrigger*>(this)->FirstUnfinished());
}

void ReferenceTrigger::OnElement(const Moment& moment) {
  switch (kind_) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount: ++count_; return;
    case Kind::kAfterProcessingTime:
      if (!deadline_) deadline_ = moment.now + delay_;
      return;
    case Kind::kAfterWatermark:
    case Kind::kAfterEach:
      if (ReferenceTrigger* const child = FirstUnfinished()) child->OnElement(moment);
      return;
    case Kind::kRepeatedly:
    case Kind::kAfterAll:
    case Kind::kAfterAny:
    case Kind::kOrFinally:
      for (ReferenceTrigger& child : children_) child.OnElement(moment);
      return;
  }
}

bool ReferenceTrigger::ShouldFire(const Moment& moment) const {
  if (finished_) return false;
  const auto fires = [&](const ReferenceTrigger& child) { return child.ShouldFire(moment); };
  switch (kind_) {
    case Kind::kDefault: return moment.end_of_window_reached;
    case Kind::kAlways: return true;
    case Kind::kNever: return false;
    case Kind::kAfterCount: return count_ >= count_wanted_;
    case Kind::kAfterProcessingTime: return deadline_ && moment.now >= *deadline_;
    case Kind::kAfterWatermark:
      if (children_.empty()) return moment.end_of_window_reached;
      if (!children_[0].finished_) return moment.end_of_window_reached || fires(children_[0]);
      return children_.size() > 1 && fires(children_[1]);
    case Kind::kAfterEach: return fires(*FirstUnfinished());
    case Kind::kAfterAll: return std::all_of(children_.begin(), children_.end(), fires);
    case Kind::kRepeatedly:
    case Kind::kAfterAny:
    case Kind::kOrFinally: return std::any_of(children_.begin(), children_.end(), fires);
  }
  return false;
}

void ReferenceTrigger::FireAndStartAnew(ReferenceTrigger* child, const Moment& moment) {
  child->OnFire(moment);
  if (child->finished_) child->Reset();
}

void ReferenceTrigger::FireEarlyOrOnTime(const Moment& moment) {
  if (!moment.end_of_window_reached) return FireAndStartAnew(&children_[0], moment);
  children_[0].finished_ = true;
  if (children_.size() == 1) finished_ = true;
}

void ReferenceTrigger::OnFire(const Moment& moment) {
  switch (kind_) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount:
    case Kind::kAfterProcessingTime:
    case Kind::kAfterAll:
    case Kind::kAfterAny: finished_ = true; return;
    case Kind::kRepeatedly: return FireAndStartAnew(&children_[0], moment);
    case Kind::kAfterWatermark:
      if (children_.empty()) {
        finished_ = true;
      } else if (!children_[0].finished_) {
        FireEarlyOrOnTime(moment);
      } else {
        FireAndStartAnew(&children_[1], moment);
      }
      return;
    case Kind::kAfterEach:
      FirstUnfinished()->OnFire(moment);
      finished_ = FirstUnfinished() == nullptr;
      return;
    case Kind::kOrFinally:
      if (children_[1].ShouldFire(moment)) {
        finished_ = true;
        return;
      }
      children_[0].OnFire(moment);
      finished_ = children_[0].finished_;
      return;
  }
}

bool ReferenceTrigger::IsDue(model::ProcessingTime after, model::ProcessingTime now) const {
  if (finished_) return false;
  if (deadline_ && *deadline_ > after && *deadline_ <= now) return true;
  if (kind_ == Kind::kAfterEach || kind_ == Kind::kAfterWatermark) {
    const ReferenceTrigger* const child = FirstUnfinished();
    return child != nullptr && child->IsDue(after, now);
  }
  return std::any_of(children_.begin(), children_.end(),
                     [&](const ReferenceTrigger& child) { return child.IsDue(after, now); });
}

Trigger ContinuationOf(const Trigger& trigger) {
  Trigger next = trigger;
  for (Trigger& child : next.children) child = ContinuationOf(child);
  switch (trigger.kind) {
    case Trigger::Kind::kAfterCount: next.count = 1; return next;
    case Trigger::Kind::kAfterProcessingTime: next.delay = {}; return next;
    case Trigger::Kind::kAfterEach:
      return Trigger::Repeatedly(Trigger::AfterAny(std::move(next.children)));
    case Trigger::Kind::kOrFinally: return Trigger::Repeatedly(std::move(next));
    default: return next;
  }
}

}  // namespace hornbeam::oracle
