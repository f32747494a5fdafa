#include "engine/windowing/trigger_machine.h"

#include <algorithm>

#include "base/status.h"

namespace hornbeam::engine {
namespace {

using model::Trigger;
using Kind = model::Trigger::Kind;

constexpr int64_t kNoDeadline = model::ProcessingTime::Never().us;

bool IsPlainAfterWatermark(const Trigger& t) {
  return t.kind == Kind::kAfterWatermark && t.children.empty();
}

bool Any(const std::vector<Trigger>& triggers, bool (*predicate)(const Trigger&)) {
  return std::any_of(triggers.begin(), triggers.end(), predicate);
}

bool CountsElementsAnytime(const Trigger& t) {
  return t.kind == Kind::kAfterCount || t.kind == Kind::kAlways ||
         Any(t.children, CountsElementsAnytime);
}

// AfterWatermark does not ask its late trigger before the end of the window.
bool CountsElementsBeforeTheEnd(const Trigger& t) {
  if (t.kind == Kind::kAfterWatermark)
    return t.has_early && CountsElementsBeforeTheEnd(t.children.front());
  return t.kind == Kind::kAfterCount || t.kind == Kind::kAlways ||
         Any(t.children, CountsElementsBeforeTheEnd);
}

// Whether `t`, repeated, is ready whenever its pane has an element and the watermark has passed the
// end of the window.
bool IsImmediateAfterTheEnd(const Trigger& t) {
  switch (t.kind) {
    case Kind::kDefault:
    case Kind::kAlways: return true;
    case Kind::kAfterWatermark: return t.children.empty();
    case Kind::kAfterCount: return t.count == 1;
    case Kind::kAfterProcessingTime: return t.delay == model::Duration{};
    case Kind::kRepeatedly: return IsImmediateAfterTheEnd(t.children.front());
    default: return false;
  }
}

bool DependsOnState(const Trigger& t) {
  switch (t.kind) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return false;
    case Kind::kAfterWatermark:
      return t.has_early || !t.has_late || !IsImmediateAfterTheEnd(t.children.back());
    case Kind::kRepeatedly:
      return !IsPlainAfterWatermark(t.children.front()) && DependsOnState(t.children.front());
    default: return true;
  }
}

bool DependsOnStateBeforeTheEnd(const Trigger& t) {
  return t.kind == Kind::kAfterWatermark ? t.has_early : DependsOnState(t);
}

int64_t AddSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;  // b >= 0
}

}  // namespace

TriggerMachine::TriggerMachine(const Trigger& trigger, bool merging)
    : merging_(merging),
      counts_elements_(CountsElementsAnytime(trigger)),
      counts_elements_before_end_(CountsElementsBeforeTheEnd(trigger)),
      needs_state_(DependsOnState(trigger)),
      needs_state_before_end_(DependsOnStateBeforeTheEnd(trigger)) {
  Compile(trigger);
  HB_CHECK(nodes_.size() <= Trigger::kMaxNodes);
}

void TriggerMachine::Compile(const Trigger& trigger) {
  const size_t index = nodes_.size();
  nodes_.push_back({.kind = trigger.kind,
                    .has_early = trigger.has_early,
                    .has_late = trigger.has_late,
                    .slot_begin = static_cast<uint8_t>(initial_slots_.size())});
  switch (trigger.kind) {
    case Kind::kDefault:
    case Kind::kAfterWatermark:
    case Kind::kAlways: watches_watermark_ = true; break;  // Always has an empty on-time pane
    case Kind::kAfterCount:
      nodes_[index].operand = trigger.count;
      initial_slots_.push_back(0);
      break;
    case Kind::kAfterProcessingTime:
      nodes_[index].operand = trigger.delay.us;
      initial_slots_.push_back(kNoDeadline);
      uses_processing_time_ = true;
      break;
    default: break;
  }
  for (const Trigger& child : trigger.children) Compile(child);
  nodes_[index].end = static_cast<uint8_t>(nodes_.size());
  nodes_[index].slot_end = static_cast<uint8_t>(initial_slots_.size());
}

size_t TriggerMachine::FirstUnfinishedChild(const TriggerState& state, size_t node) const {
  size_t child = node + 1;
  while (child < nodes_[node].end && IsFinished(state, child)) child = nodes_[child].end;
  return child;
}

void TriggerMachine::OnElements(TriggerState* state, int64_t count,
                                const TriggerContext& context) const {
  if (initial_slots_.empty() || IsFinished(*state)) return;
  if (state->slots.empty()) state->slots = initial_slots_;
  OnElements(state, 0, count, context);
}

void TriggerMachine::OnElements(TriggerState* state, size_t node, int64_t count,
                                const TriggerContext& context) const {
  const Node& n = nodes_[node];
  switch (n.kind) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount: state->slots[n.slot_begin] += count; return;
    case Kind::kAfterProcessingTime: {
      int64_t& deadline = state->slots[n.slot_begin];
      if (deadline == kNoDeadline) deadline = AddSaturating(context.now.us, n.operand);
      return;
    }
    case Kind::kAfterWatermark:
      if (merging_) {
        OnElementsOfAll(state, node, count, context);
      } else if (IsDone(*state, node)) {
        if (n.has_late) OnElements(state, LateChild(node), count, context);
      } else if (n.has_early) {
        OnElements(state, node + 1, count, context);
      }
      return;
    case Kind::kAfterEach:
      if (merging_) {
        OnElementsOfAll(state, node, count, context);
      } else {
        OnElements(state, FirstUnfinishedChild(*state, node), count, context);
      }
      return;
    case Kind::kRepeatedly:
    case Kind::kAfterAll:
    case Kind::kAfterAny:
    case Kind::kOrFinally: OnElementsOfAll(state, node, count, context); return;
  }
}

void TriggerMachine::OnElementsOfAll(TriggerState* state, size_t node, int64_t count,
                                     const TriggerContext& context) const {
  for (size_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end) {
    OnElements(state, child, count, context);
  }
}

bool TriggerMachine::ShouldFire(const TriggerState& state, const TriggerContext& context) const {
  return !IsFinished(state) && ShouldFire(state, 0, context);
}

bool TriggerMachine::ShouldFire(const TriggerState& state, size_t node,
                                const TriggerContext& context) const {
  const Node& n = nodes_[node];
  switch (n.kind) {
    case Kind::kNever: return false;
    case Kind::kAlways: return true;
    case Kind::kDefault: return context.EndOfWindowReached();
    case Kind::kAfterCount: return Slot(state, node) >= n.operand;
    case Kind::kAfterProcessingTime: {
      const int64_t deadline = Slot(state, node);
      return deadline != kNoDeadline && context.now.us >= deadline;
    }
    case Kind::kAfterWatermark:
      if (IsDone(state, node)) return n.has_late && ShouldFire(state, LateChild(node), context);
      return context.EndOfWindowReached() || (n.has_early && ShouldFire(state, node + 1, context));
    case Kind::kRepeatedly: return ShouldFire(state, node + 1, context);
    case Kind::kAfterEach: return ShouldFire(state, FirstUnfinishedChild(state, node), context);
    case Kind::kAfterAll:
      for (size_t child = node + 1; child < n.end; child = nodes_[child].end) {
        if (!IsFinished(state, child) && !ShouldFire(state, child, context)) return false;
      }
      return true;
    case Kind::kAfterAny:
    case Kind::kOrFinally:
      for (size_t child = node + 1; child < n.end; child = nodes_[child].end) {
        if (IsFinished(state, child) || ShouldFire(state, child, context)) return true;
      }
      return false;
  }
  return false;
}

void TriggerMachine::OnFire(TriggerState* state, const TriggerContext& context) const {
  OnFire(state, 0, context);
}

void TriggerMachine::OnFire(TriggerState* state, size_t node, const TriggerContext& context) const {
  const Node& n = nodes_[node];
  switch (n.kind) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount:
    case Kind::kAfterProcessingTime: Finish(state, node); return;
    case Kind::kAfterAll:
    case Kind::kAfterAny:
      if (merging_) FireParts(state, node, context);
      Finish(state, node);
      return;
    case Kind::kRepeatedly: OnFireRepeated(state, node + 1, context); return;
    case Kind::kAfterWatermark:
      if (IsDone(*state, node)) {
        OnFireRepeated(state, LateChild(node), context);
      } else if (context.EndOfWindowReached()) {
        Finish(state, node);
        if (merging_ && n.has_early) MarkDone(state, node + 1);  // where windows merge, it is asked whether it is
      } else if (n.has_early) {
        OnFireRepeated(state, node + 1, context);
      }
      return;
    case Kind::kAfterEach:
      OnFire(state, FirstUnfinishedChild(*state, node), context);
      if (merging_) ResetSlots(state, node);  // the others have counted beside it
      if (FirstUnfinishedChild(*state, node) == n.end) Finish(state, node);
      return;
    case Kind::kOrFinally:
      if (const size_t until = nodes_[node + 1].end; ShouldFire(*state, until, context)) {
        if (merging_) OnFire(state, until, context);
        Finish(state, node);
        return;
      }
      OnFire(state, node + 1, context);
      if (!IsFinished(*state, node + 1)) return;
      // What the second trigger has counted may count again where windows merge.
      merging_ ? MarkDone(state, node) : Finish(state, node);
      return;
  }
}

// Fires `node` and starts it anew if that has finished it.
void TriggerMachine::OnFireRepeated(TriggerState* state, size_t node,
                                    const TriggerContext& context) const {
  OnFire(state, node, context);
  if (IsFinished(*state, node)) Reset(state, node);
}

// Makes the whole subtree as it was in the beginning.
void TriggerMachine::Reset(TriggerState* state, size_t node) const {
  const Node& n = nodes_[node];
  const uint64_t width = n.end - node;
  const uint64_t bits = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  state->done &= ~(bits << node);
  if (state->slots.empty()) return;
  std::copy(initial_slots_.begin() + n.slot_begin, initial_slots_.begin() + n.slot_end,
            state->slots.begin() + n.slot_begin);
}

void TriggerMachine::ResetSlots(TriggerState* state, size_t node) const {
  const Node& n = nodes_[node];
  if (state->slots.empty()) return;
  std::copy(initial_slots_.begin() + n.slot_begin, initial_slots_.begin() + n.slot_end, state->slots.begin() + n.slot_begin);
}

// Each part that is ready has fired.
void TriggerMachine::FireParts(TriggerState* state, size_t node, const TriggerContext& context) const {
  for (size_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end) {
    if (ShouldFire(*state, child, context)) OnFire(state, child, context);
  }
}

void TriggerMachine::Merge(const States& from, const TriggerContext& context, TriggerState* into) const {
  if (into->slots.empty()) into->slots = initial_slots_;
  Merge(from, 0, context, into);
  if (IsInitial(*into)) into->slots.clear();
}

void TriggerMachine::Merge(const States& from, size_t node, const TriggerContext& context, TriggerState* into) const {
  const Node& n = nodes_[node];
  const uint64_t bit = uint64_t{1} << node;
  const auto is_done = [node](const TriggerState* state) { return IsDone(*state, node); };
  switch (n.kind) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return;
    case Kind::kAfterCount: {
      // Done in one, done in all.
      ResetSlots(into, node);
      if (std::any_of(from.begin(), from.end(), is_done)) {
        into->done |= bit;
        return;
      }
      for (const TriggerState* state : from) into->slots[n.slot_begin] += Slot(*state, node);
      return;
    }
    case Kind::kAfterProcessingTime: {
      // Done only if it is done in the window that goes on; otherwise it waits for the first deadline, or, where there is none
      // left, for the next element.
      ResetSlots(into, node);
      if (IsDone(*into, node)) return;
      int64_t& deadline = into->slots[n.slot_begin];
      for (const TriggerState* state : from) deadline = std::min(deadline, Slot(*state, node));
      return;
    }
    case Kind::kAfterWatermark: MergeAfterWatermark(from, node, context, into); return;
    case Kind::kAfterEach: MergeInTurn(from, node, context, into); return;
    case Kind::kRepeatedly: Merge(from, node + 1, context, into); return;
    case Kind::kAfterAll:
    case Kind::kAfterAny:
    case Kind::kOrFinally: {
      bool all = true, any = false;
      for (size_t child = node + 1; child < n.end; child = nodes_[child].end) {
        Merge(from, child, context, into);
        all = all && IsFinished(*into, child);
        any = any || IsFinished(*into, child);
      }
      const bool done = n.kind == Kind::kAfterAll ? all : any;
      into->done = done ? into->done | bit : into->done & ~bit;
      return;
    }
  }
}

// As long as one of the windows had not come to its end, or the merged one has not, it is before its end: pending elements have
// not had a chance to fire.
void TriggerMachine::MergeAfterWatermark(const States& from, size_t node, const TriggerContext& context,
                                         TriggerState* into) const {
  const Node& n = nodes_[node];
  const uint64_t bit = uint64_t{1} << node;
  const bool over = context.EndOfWindowReached() &&
                    std::all_of(from.begin(), from.end(), [node](const TriggerState* s) { return IsDone(*s, node); });
  if (over) {
    into->done |= bit;
    if (n.has_early) MarkDone(into, node + 1);
    if (n.has_late) Merge(from, LateChild(node), context, into);
    return;
  }
  into->done &= ~bit;
  if (n.has_early) {
    Merge(from, node + 1, context, into);
    into->done &= ~(uint64_t{1} << (node + 1));
  }
  if (n.has_late) {
    ResetSlots(into, LateChild(node));
    into->done &= ~(uint64_t{1} << LateChild(node));
  }
}

void TriggerMachine::MergeInTurn(const States& from, size_t node, const TriggerContext& context, TriggerState* into) const {
  bool its_turn = true;
  bool all = true;
  for (size_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end) {
    if (its_turn) {
      Merge(from, child, context, into);
      its_turn = IsFinished(*into, child);
    } else {
      ResetSlots(into, child);
    }
    all = all && IsFinished(*into, child);
  }
  const uint64_t bit = uint64_t{1} << node;
  into->done = all ? into->done | bit : into->done & ~bit;
}

// Nothing below a finished node is looked at again until it is reset, so it is left clean; but where windows merge, a part that
// had not finished may bring the whole on again.
void TriggerMachine::Finish(TriggerState* state, size_t node) const {
  merging_ ? ResetSlots(state, node) : Reset(state, node);
  MarkDone(state, node);
}

// Nodes that are not active have been reset, so every deadline that is set counts.
model::ProcessingTime TriggerMachine::NextProcessingTimeDeadline(const TriggerState& state,
                                                                 model::ProcessingTime now) const {
  int64_t next = kNoDeadline;
  if (!uses_processing_time_ || state.slots.empty()) return {next};
  for (const Node& n : nodes_) {
    if (n.kind != Kind::kAfterProcessingTime) continue;
    const int64_t deadline = state.slots[n.slot_begin];
    if (deadline > now.us) next = std::min(next, deadline);
  }
  return {next};
}

bool TriggerMachine::IsInitial(const TriggerState& state) const {
  return state.done == 0 && (state.slots.empty() || state.slots == initial_slots_);
}

// The bits, then each slot as its difference from its initial value, so that what has not begun
// takes one byte.
void TriggerMachine::Encode(const TriggerState& state, std::string* out) const {
  PutVarint(out, state.done);
  for (size_t i = 0; i < initial_slots_.size(); ++i) {
    const int64_t value = state.slots.empty() ? initial_slots_[i] : state.slots[i];
    PutVarint(out, static_cast<uint64_t>(value ^ initial_slots_[i]));
  }
}

bool TriggerMachine::Decode(ByteReader* in, TriggerState* state) const {
  state->done = in->Varint();
  state->slots.clear();
  if (nodes_.size() < 64 && (state->done >> nodes_.size()) != 0) return false;
  if (!initial_slots_.empty()) state->slots = initial_slots_;
  for (int64_t& slot : state->slots) slot ^= static_cast<int64_t>(in->Varint());
  for (size_t node = 0; node < nodes_.size(); ++node) {
    const Node& n = nodes_[node];
    if (n.kind == Kind::kAfterCount && state->slots[n.slot_begin] < 0) return false;
    if (n.kind == Kind::kAfterEach && !IsDone(*state, node) &&
        FirstUnfinishedChild(*state, node) == n.end) {
      return false;
    }
  }
  if (IsInitial(*state)) state->slots.clear();
  return in->ok();
}

}  // namespace hornbeam::engine
