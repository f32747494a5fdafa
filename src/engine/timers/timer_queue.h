// The timers that are set, in the order in which they come due.
//
// A worker has one queue per stage and time domain. A timer is known by its key, window and tag:
// setting it again replaces it. Timers come out by time, and those of the same time in the order in
// which they were set, so that what they do does not depend on hashing. About 100 bytes each;
// setting, clearing and popping cost O(log n) and allocate only as the queue grows.
// Single-threaded, without a clock.
#ifndef HORNBEAM_ENGINE_TIMERS_TIMER_QUEUE_H_
#define HORNBEAM_ENGINE_TIMERS_TIMER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "base/bytes.h"
#include "model/key_hash.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

struct TimerId {
  model::KeyHash key;
  model::Window window;
  uint32_t tag = 0;  // which of the stage's timers; the stage gives the numbers

  friend bool operator==(const TimerId&, const TimerId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const TimerId& id) {
    return H::combine(std::move(h), id.key, id.window, id.tag);
  }
};

// `Time` is model::EventTime or model::ProcessingTime.
template <typename Time>
struct Timer {
  TimerId id;
  Time time;
  model::EventTime output_timestamp;  // of what the timer puts out
  uint64_t sequence = 0;              // the queue's: later settings have greater ones

  friend bool operator==(const Timer&, const Timer&) = default;
};

template <typename Time>
class TimerQueue {
 public:
  TimerQueue() : index_(0, SlotHash{&slots_}, SlotEq{&slots_}) {}
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  // Sets the timer, in place of the one that was set under this id. Returns its sequence.
  uint64_t Set(const TimerId& id, Time time, model::EventTime output_timestamp);
  // Returns whether there was one.
  bool Clear(const TimerId& id);
  std::optional<Timer<Time>> Find(const TimerId& id) const;

  // Takes out the first timer of a time up to and including `up_to`. What it sets in turn may be
  // due as well, so ask until there is none. (An event-time timer is due when the watermark has
  // passed it: up_to is the instant before.)
  std::optional<Timer<Time>> PopDue(Time up_to);

  // The time of the first timer; EventTime::Max() or ProcessingTime::Never() without any.
  Time NextTime() const { return heap_.empty() ? None() : heap_.front().time; }
  size_t size() const { return heap_.size(); }
  bool empty() const { return heap_.empty(); }

  // For the log. Visits every timer, in no particular order; the queue must not be changed
  // meanwhile.
  template <typename Visitor>
  void ForEach(Visitor visit) const {
    for (const Entry& e : heap_) visit(ToTimer(e));
  }
  // Puts back a timer that ForEach has shown, with its place among those of the same time.
  void Restore(const Timer<Time>& timer);

 private:
  // What the heap orders; the rest of the timer is in its slot, so that little is moved.
  struct Entry {
    Time time;
    uint64_t sequence;
    uint32_t slot;

    bool ComesBefore(const Entry& other) const {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
  };
  struct Slot {
    TimerId id;
    model::EventTime output_timestamp;
    uint32_t position = 0;  // in heap_
  };
  // The index holds slot numbers and compares the ids in the slots.
  struct SlotHash {
    using is_transparent = void;
    const std::vector<Slot>* slots;
    size_t operator()(uint32_t slot) const { return absl::HashOf((*slots)[slot].id); }
    size_t operator()(const TimerId& id) const { return absl::HashOf(id); }
  };
  struct SlotEq {
    using is_transparent = void;
    const std::vector<Slot>* slots;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t a, const TimerId& id) const { return (*slots)[a].id == id; }
    bool operator()(const TimerId& id, uint32_t a) const { return (*slots)[a].id == id; }
  };

  static constexpr Time None() {
    if constexpr (std::is_same_v<Time, model::EventTime>) {
      return model::EventTime::Max();
    } else {
      return model::ProcessingTime::Never();
    }
  }
  Timer<Time> ToTimer(const Entry& e) const {
    return {slots_[e.slot].id, e.time, slots_[e.slot].output_timestamp, e.sequence};
  }
  void Insert(const Timer<Time>& timer);
  void RemoveAt(size_t position);
  void Place(size_t position, const Entry& e) {
    heap_[position] = e;
    slots_[e.slot].position = static_cast<uint32_t>(position);
  }
  // Puts `e`, which may be anything, where it belongs, starting from the free `position`.
  void Sift(size_t position, Entry e);

  std::vector<Entry> heap_;  // a binary heap: children of i at 2i + 1 and 2i + 2
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  absl::flat_hash_set<uint32_t, SlotHash, SlotEq> index_;
  uint64_t next_sequence_ = 0;
};

using EventTimerQueue = TimerQueue<model::EventTime>;
using ProcessingTimerQueue = TimerQueue<model::ProcessingTime>;

template <typename Time>
void EncodeTimer(const Timer<Time>& timer, std::string* out);
// Consumes what EncodeTimer wrote; false where the bytes are not of it.
template <typename Time>
[[nodiscard]] bool DecodeTimer(ByteReader* in, Timer<Time>* timer);

extern template class TimerQueue<model::EventTime>;
extern template class TimerQueue<model::ProcessingTime>;

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_TIMERS_TIMER_QUEUE_H_
