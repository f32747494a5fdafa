#include "reference_trigger.h"

#include <algorithm>

namespace hornbeam::oracle {

using model::Trigger;

ReferenceTrigger::ReferenceTrigger(const Trigger& trigger, bool merging)
    : kind_(trigger.kind), merging_(merging), count_wanted_(trigger.count), delay_(trigger.delay) {
  if (kind_ == Kind::kAfterWatermark && trigger.has_late && !trigger.has_early) {
    children_.emplace_back(Trigger::Never(), merging);
  }
  for (const Trigger& child : trigger.children) children_.emplace_back(child, merging);
}

void ReferenceTrigger::Clear() {
  count_ = 0;
  deadline_.reset();
  for (ReferenceTrigger& child : children_) child.Clear();
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
      if (!merging_) {
        if (ReferenceTrigger* const child = FirstUnfinished()) child->OnElement(moment);
        return;
      }
      [[fallthrough]];  // all side by side
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
  const auto has_fired = [&](const ReferenceTrigger& child) {
    return child.finished_ || fires(child);
  };
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
    case Kind::kAfterAll: return std::all_of(children_.begin(), children_.end(), has_fired);
    case Kind::kAfterAny: return std::any_of(children_.begin(), children_.end(), has_fired);
    case Kind::kRepeatedly:
    case Kind::kOrFinally: return std::any_of(children_.begin(), children_.end(), fires);
  }
  return false;
}

void ReferenceTrigger::FireAndStartAnew(ReferenceTrigger* child, const Moment& moment) {
  child->OnFire(moment);
  if (child->finished_) child->Reset();
}

void ReferenceTrigger::FireAfterWatermark(const Moment& moment) {
  if (children_.empty()) {
    finished_ = true;
  } else if (children_[0].finished_) {
    FireAndStartAnew(&children_[1], moment);
  } else if (!moment.end_of_window_reached) {
    FireAndStartAnew(&children_[0], moment);
  } else {
    children_[0].Clear();
    children_[0].finished_ = true;
    if (children_.size() == 1) finished_ = true;
    if (children_.size() > 1) children_[1].Clear();
  }
}

void ReferenceTrigger::OnFire(const Moment& moment) {
  switch (kind_) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount:
    case Kind::kAfterProcessingTime:
      Clear();
      finished_ = true;
      return;
    case Kind::kAfterAll:
    case Kind::kAfterAny:
      for (ReferenceTrigger& child : children_) {
        child.ShouldFire(moment) ? child.OnFire(moment) : child.Clear();
      }
      finished_ = true;
      return;
    case Kind::kRepeatedly: return FireAndStartAnew(&children_[0], moment);
    case Kind::kAfterWatermark: return FireAfterWatermark(moment);
    case Kind::kAfterEach:
      FirstUnfinished()->OnFire(moment);
      if (merging_) Clear();
      finished_ = FirstUnfinished() == nullptr;
      return;
    case Kind::kOrFinally:
      if (children_[1].ShouldFire(moment)) {
        children_[1].OnFire(moment);
        children_[0].Clear();
        finished_ = true;
        return;
      }
      children_[0].OnFire(moment);
      finished_ = children_[0].finished_;
      return;
  }
}

bool ReferenceTrigger::IsDue(model::ProcessingTime after, model::ProcessingTime now) const {
  if (deadline_ && *deadline_ > after && *deadline_ <= now) return true;
  return std::any_of(children_.begin(), children_.end(),
                     [&](const ReferenceTrigger& child) { return child.IsDue(after, now); });
}

// ---- Merging: each trigger's onMerge
// -------------------------------------------------------------

namespace {

using All = std::vector<const ReferenceTrigger*>;

}  // namespace

void ReferenceTrigger::Merge(const All& from, const Moment& moment) {
  const auto is_finished = [](const ReferenceTrigger* t) { return t->finished_; };
  switch (kind_) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount:
      Clear();
      if (std::any_of(from.begin(), from.end(), is_finished)) {
        finished_ = true;
        return;
      }
      for (const ReferenceTrigger* t : from) count_ += t->count_;
      return;
    case Kind::kAfterProcessingTime:
      Clear();
      if (finished_) return;
      for (const ReferenceTrigger* t : from) {
        if (t->deadline_ && (!deadline_ || *t->deadline_ < *deadline_)) deadline_ = t->deadline_;
      }
      return;
    case Kind::kAfterWatermark: return MergeAfterWatermark(from, moment);
    case Kind::kAfterEach: return MergeInTurn(from, moment);
    case Kind::kRepeatedly: return MergeChildren(from, moment);
    case Kind::kAfterAll:
      MergeChildren(from, moment);
      finished_ = FirstUnfinished() == nullptr;
      return;
    case Kind::kAfterAny:
    case Kind::kOrFinally:
      MergeChildren(from, moment);
      finished_ = std::any_of(children_.begin(), children_.end(),
                              [](const ReferenceTrigger& child) { return child.finished_; });
      return;
  }
}

namespace {

template <typename Children>
All ChildrenOf(const All& from, size_t i, Children children) {
  All result;
  for (const ReferenceTrigger* t : from) result.push_back(&children(*t)[i]);
  return result;
}

}  // namespace

void ReferenceTrigger::MergeChildren(const All& from, const Moment& moment) {
  for (size_t i = 0; i < children_.size(); ++i) {
    children_[i].Merge(ChildrenOf(
                           from, i, [](const ReferenceTrigger& t) -> auto& { return t.children_; }),
                       moment);
  }
}

// What comes after the first part that is not over has not begun.
void ReferenceTrigger::MergeInTurn(const All& from, const Moment& moment) {
  bool its_turn = true;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (its_turn) {
      children_[i].Merge(
          ChildrenOf(
              from, i, [](const ReferenceTrigger& t) -> auto& { return t.children_; }),
          moment);
      its_turn = children_[i].finished_;
    } else {
      children_[i].Clear();
    }
  }
  finished_ = FirstUnfinished() == nullptr;
}

// The end of the window is over only where it is over for all, and for the merged one.
void ReferenceTrigger::MergeAfterWatermark(const All& from, const Moment& moment) {
  const bool plain = children_.empty();
  const bool over = moment.end_of_window_reached &&
                    std::all_of(from.begin(), from.end(), [plain](const ReferenceTrigger* t) {
                      return plain ? t->finished_ : t->children_[0].finished_;
                    });
  if (children_.size() < 2) finished_ = over;
  if (plain) return;
  const auto children = [](const ReferenceTrigger& t) -> auto& { return t.children_; };
  if (!over) children_[0].Merge(ChildrenOf(from, 0, children), moment);
  children_[0].finished_ = over;
  if (children_.size() < 2) return;
  if (over) {
    children_[1].Merge(ChildrenOf(from, 1, children), moment);
  } else {
    children_[1].Clear();
    children_[1].finished_ = false;
  }
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
