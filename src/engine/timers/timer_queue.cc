#include "engine/timers/timer_queue.h"

#include <algorithm>
#include "model/element_bytes.h"

namespace hornbeam::engine {

using model::EventTime;
using model::ProcessingTime;

template <typename Time>
uint64_t TimerQueue<Time>::Set(const TimerId& id, Time time, EventTime output_timestamp) {
  Insert({id, time, output_timestamp, next_sequence_});
  return next_sequence_++;
}

template <typename Time>
void TimerQueue<Time>::Restore(const Timer<Time>& timer) {
  next_sequence_ = std::max(next_sequence_, timer.sequence + 1);
  Insert(timer);
}

template <typename Time>
bool TimerQueue<Time>::Clear(const TimerId& id) {
  const auto it = index_.find(id);
  if (it == index_.end()) return false;
  RemoveAt(slots_[*it].position);
  return true;
}

template <typename Time>
std::optional<Timer<Time>> TimerQueue<Time>::Find(const TimerId& id) const {
  const auto it = index_.find(id);
  if (it == index_.end()) return std::nullopt;
  return ToTimer(heap_[slots_[*it].position]);
}

template <typename Time>
std::optional<Timer<Time>> TimerQueue<Time>::PopDue(Time up_to) {
  if (heap_.empty() || heap_.front().time > up_to) return std::nullopt;
  const Timer<Time> timer = ToTimer(heap_.front());
  RemoveAt(0);
  return timer;
}

template <typename Time>
void TimerQueue<Time>::Insert(const Timer<Time>& timer) {
  if (const auto it = index_.find(timer.id); it != index_.end()) {
    Slot& slot = slots_[*it];
    slot.output_timestamp = timer.output_timestamp;
    Sift(slot.position, {timer.time, timer.sequence, *it});
    return;
  }
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = {timer.id, timer.output_timestamp};
  index_.insert(slot);
  heap_.emplace_back();
  Sift(heap_.size() - 1, {timer.time, timer.sequence, slot});
}

template <typename Time>
void TimerQueue<Time>::RemoveAt(size_t position) {
  const uint32_t slot = heap_[position].slot;
  index_.erase(slot);
  free_slots_.push_back(slot);
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position < heap_.size()) Sift(position, last);
}

template <typename Time>
void TimerQueue<Time>::Sift(size_t position, Entry e) {
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (!e.ComesBefore(heap_[parent])) break;
    Place(position, heap_[parent]);
    position = parent;
  }
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].ComesBefore(heap_[child])) ++child;
    if (!heap_[child].ComesBefore(e)) break;
    Place(position, heap_[child]);
    position = child;
  }
  Place(position, e);
}

template <typename Time>
void EncodeTimer(const Timer<Time>& timer, std::string* out) {
  PutFixed64(out, timer.id.key.low);
  PutFixed64(out, timer.id.key.high);
  model::PutWindow(out, timer.id.window);
  PutVarint(out, timer.id.tag);
  PutSigned(out, timer.time.us);
  PutSigned(out, timer.output_timestamp.us);
  PutVarint(out, timer.sequence);
}

template <typename Time>
bool DecodeTimer(ByteReader* in, Timer<Time>* timer) {
  timer->id.key.low = in->Fixed64();
  timer->id.key.high = in->Fixed64();
  timer->id.window = model::ReadWindow(*in);
  const uint64_t tag = in->Varint();
  timer->id.tag = static_cast<uint32_t>(tag);
  timer->time.us = in->Signed();
  timer->output_timestamp.us = in->Signed();
  timer->sequence = in->Varint();
  return in->ok() && tag <= UINT32_MAX;
}

template class TimerQueue<EventTime>;
template class TimerQueue<ProcessingTime>;
template void EncodeTimer(const Timer<EventTime>&, std::string*);
template void EncodeTimer(const Timer<ProcessingTime>&, std::string*);
template bool DecodeTimer(ByteReader*, Timer<EventTime>*);
template bool DecodeTimer(ByteReader*, Timer<ProcessingTime>*);

}  // namespace hornbeam::engine
