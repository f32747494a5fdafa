// When the pane of a key and window is put out: a model::Trigger compiled into a state machine.
//
// One TriggerMachine serves every key and window of a grouping and is immutable, so threads may
// share it. What differs by key and window is a TriggerState: 32 bytes, without an allocation up to
// two counters, and worth storing only while IsInitial() is false. The machine is pure: elements
// and firings in, decisions out; it has no clock and sets no timers.
//
// How an engine drives it, for one key and window:
//
//   if (machine.IsFinished(state)) -> the window is closed: drop the element
//   machine.OnElements(&state, n, context);
//   if (machine.ShouldFire(state, context)) { put the pane out; machine.OnFire(&state, context); }
//   set a timer at machine.NextProcessingTimeDeadline(state, now)
//
// and asks ShouldFire again when the watermark passes the end of the window (where
// WatchesWatermark()), and when a processing-time timer comes due. ShouldFire speaks of time and
// counts alone: the default trigger is ready at any moment after the end of its window, so whether
// an empty pane is put out is for the engine to say (OnTimeBehavior).
//
// The meaning of each kind is Beam's. Where its SDKs differ, as follows:
//  - AfterAny finishes with its first firing, AfterAll too (Java). OrFinally finishes when its
//  second trigger fires or
//    its first one finishes; the second one counts across the firings of the first.
//  - Early and late triggers are each repeated: one that has finished starts anew.
//  - AfterProcessingTime is ready as soon as the clock shows its deadline, not one tick later.
//  - Always never finishes.
#ifndef HORNBEAM_ENGINE_WINDOWING_TRIGGER_MACHINE_H_
#define HORNBEAM_ENGINE_WINDOWING_TRIGGER_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/bytes.h"
#include "model/time.h"
#include "model/trigger.h"
#include "model/window.h"

namespace hornbeam::engine {

// What a decision may depend on beside the state.
struct TriggerContext {
  model::Window window;
  model::EventTime watermark;  // the input watermark of the grouping
  model::ProcessingTime now;

  bool EndOfWindowReached() const { return window.IsPassedBy(watermark); }
};

// The progress of one trigger in one key and window. Starts out as `TriggerState{}`; only the
// machine looks inside.
struct TriggerState {
  uint64_t done = 0;                      // a bit for each node of the trigger
  absl::InlinedVector<int64_t, 2> slots;  // empty until something is counted

  friend bool operator==(const TriggerState&, const TriggerState&) = default;
};

class TriggerMachine {
 public:
  // `trigger` has passed Validate(). `merging`: windows may merge, so that a part that is not its turn yet, or is over, may
  // count again; all parts see all elements.
  explicit TriggerMachine(const model::Trigger& trigger, bool merging = false);

  // Windows of a key become one: `from` are the states of those that have one. `into` is the state of the one that they become
  // where it is among them, and TriggerState{} otherwise; afterwards it is that of all together (Beam's onMerge). `context` is of
  // the merged window. REQUIRES: merging.
  void Merge(const std::vector<const TriggerState*>& from, const TriggerContext& context, TriggerState* into) const;

  // `count` elements have come into the pane. Where CountsElements(), give them one at a time and
  // ask ShouldFire after each, so that panes do not depend on how elements are batched.
  void OnElements(TriggerState* state, int64_t count, const TriggerContext& context) const;
  // Whether the pane is to be put out now. False for a finished trigger.
  bool ShouldFire(const TriggerState& state, const TriggerContext& context) const;
  // The pane has been put out because ShouldFire said so in the same context.
  void OnFire(TriggerState* state, const TriggerContext& context) const;
  // No further pane will ever be put out: the window is closed to elements.
  bool IsFinished(const TriggerState& state) const { return IsFinished(state, 0); }
  // The least deadline after `now`; Never() if there is none. Those up to `now` are already part of
  // ShouldFire's answer.
  model::ProcessingTime NextProcessingTimeDeadline(const TriggerState& state,
                                                   model::ProcessingTime now) const;

  // True where `state` says nothing that TriggerState{} does not, so that it need not be stored.
  bool IsInitial(const TriggerState& state) const;

  // Whether some answer depends on how many elements have come (AfterCount, Always), at any time or
  // before the watermark passes the end of the window. Nothing may be combined ahead of a grouping
  // for which this holds.
  bool CountsElements() const { return counts_elements_; }
  bool CountsElementsBeforeEnd() const { return counts_elements_before_end_; }
  // Whether answers follow from the context alone. Where they do not need state, give ShouldFire a
  // TriggerState{} for a pane that has elements (or the on-time pane), and leave OnElements and
  // OnFire out. NeedsStateBeforeEnd() is what counts where no lateness is allowed, for then the
  // window goes with its on-time pane.
  bool NeedsState() const { return needs_state_; }
  bool NeedsStateBeforeEnd() const { return needs_state_before_end_; }
  // Whether the watermark's passing the end of the window can make it fire.
  bool WatchesWatermark() const { return watches_watermark_; }
  bool UsesProcessingTime() const { return uses_processing_time_; }

  // The state as bytes, for the job's log. Decode is false, and `state` is unspecified, where the
  // bytes are not of this trigger; it consumes what Encode wrote.
  void Encode(const TriggerState& state, std::string* out) const;
  [[nodiscard]] bool Decode(ByteReader* in, TriggerState* state) const;

 private:
  // A node of the tree in preorder: its children start at its own index + 1, each ending where the
  // next one begins.
  struct Node {
    model::Trigger::Kind kind;
    bool has_early = false;
    bool has_late = false;
    uint8_t end = 0;  // the index after the subtree
    uint8_t slot_begin =
        0;  // the subtree's slots: one for each AfterCount and AfterProcessingTime in it
    uint8_t slot_end = 0;
    int64_t operand = 0;  // AfterCount: the count; AfterProcessingTime: the delay in us
  };

  void Compile(const model::Trigger& trigger);

  // The node's bit: it has finished, or, for AfterWatermark with a late trigger, has fired its
  // on-time pane.
  static bool IsDone(const TriggerState& state, size_t node) { return (state.done >> node) & 1; }
  bool IsFinished(const TriggerState& state, size_t node) const {
    return IsDone(state, node) && !nodes_[node].has_late;
  }
  int64_t Slot(const TriggerState& state, size_t node) const {
    const size_t slot = nodes_[node].slot_begin;
    return state.slots.empty() ? initial_slots_[slot] : state.slots[slot];
  }
  size_t LateChild(size_t node) const {
    return nodes_[node].has_early ? nodes_[node + 1].end : node + 1;
  }
  size_t FirstUnfinishedChild(const TriggerState& state, size_t node) const;

  void OnElements(TriggerState* state, size_t node, int64_t count,
                  const TriggerContext& context) const;
  void OnElementsOfAll(TriggerState* state, size_t node, int64_t count,
                       const TriggerContext& context) const;
  bool ShouldFire(const TriggerState& state, size_t node, const TriggerContext& context) const;
  void OnFire(TriggerState* state, size_t node, const TriggerContext& context) const;
  void OnFireRepeated(TriggerState* state, size_t node, const TriggerContext& context) const;
  using States = std::vector<const TriggerState*>;
  void Merge(const States& from, size_t node, const TriggerContext& context, TriggerState* into) const;
  void MergeAfterWatermark(const States& from, size_t node, const TriggerContext& context, TriggerState* into) const;
  void MergeInTurn(const States& from, size_t node, const TriggerContext& context, TriggerState* into) const;
  void FireParts(TriggerState* state, size_t node, const TriggerContext& context) const;
  void Reset(TriggerState* state, size_t node) const;
  // What the subtree has counted is gone; what has finished stays so.
  void ResetSlots(TriggerState* state, size_t node) const;
  void Finish(TriggerState* state, size_t node) const;
  static void MarkDone(TriggerState* state, size_t node) { state->done |= uint64_t{1} << node; }

  const bool merging_;
  std::vector<Node> nodes_;  // the root is the first
  absl::InlinedVector<int64_t, 2> initial_slots_;
  bool counts_elements_ = false;
  bool counts_elements_before_end_ = false;
  bool needs_state_ = false;
  bool needs_state_before_end_ = false;
  bool watches_watermark_ = false;
  bool uses_processing_time_ = false;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_WINDOWING_TRIGGER_MACHINE_H_
