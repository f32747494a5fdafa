#include "engine/timers/timer_member.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace hornbeam::engine {
namespace {

using model::EventTime;
using model::ProcessingTime;

// The least multiple of `period` that is not before `at`.
int64_t AlignedUp(int64_t at_us, int64_t period_us) {
  if (period_us <= 0) return at_us;
  const int64_t past = ((at_us % period_us) + period_us) % period_us;
  return past == 0 ? at_us : model::internal::SaturatedAdd(at_us, period_us - past);
}

}  // namespace

std::string TimerMember::type() const {
  return absl::StrCat(domain_ == TimeDomain::kEventTime ? "event" : "processing", is_family_ ? " timer family" : " timer");
}

const SetTimer* TimerMember::Find(const void* slot, uint32_t id_tag, std::string_view* tag) const {
  const auto& at = *static_cast<const TimerSlot*>(slot);
  *tag = {};
  const uint32_t number = id_tag / kMostMembers;
  if (number == 0) return at.timer ? &*at.timer : nullptr;
  if (at.family == nullptr) return nullptr;
  for (const auto& [name, tagged] : *at.family) {
    if (tagged.number != number) continue;
    *tag = name;
    return &tagged.timer;
  }
  return nullptr;
}

void TimerMember::Park(void* slot, uint32_t id_tag, EventTime at) const {
  std::string_view tag;
  const_cast<SetTimer*>(Find(slot, id_tag, &tag))->parked_at = at;
}

void TimerMember::Add(Pending pending) {
  (void)at_hand();  // there is one
  Touch();
  pending_.push_back(std::move(pending));
}

void TimerMember::CheckOutput(EventTime output) const {
  if (output <= frame().expires_at) return;
  throw std::invalid_argument(absl::StrCat("the timer '", name(), "' cannot have the output timestamp ", ToString(output),
                                           ", which is after its window expires at ", ToString(frame().expires_at)));
}

void TimerMember::SetAt(std::string_view tag, EventTime time, const std::optional<EventTime>& output, bool holds) {
  (void)at_hand();
  if (time > frame().expires_at) {
    throw std::invalid_argument(absl::StrCat("the event timer '", name(), "' cannot be set to ", ToString(time),
                                             ", which is after its window expires at ", ToString(frame().expires_at)));
  }
  const EventTime stamp = output.value_or(time);
  CheckOutput(stamp);
  Add({std::string(tag), true, time.us, stamp, holds});
}

void TimerMember::SetAt(std::string_view tag, ProcessingTime time, const std::optional<EventTime>& output, bool holds) {
  (void)at_hand();
  const EventTime stamp = std::min(output.value_or(frame().timestamp), output ? EventTime::Max() : frame().expires_at);
  CheckOutput(stamp);
  Add({std::string(tag), true, time.us, stamp, holds});
}

void TimerMember::SetRelative(std::string_view tag, model::Duration offset, model::Duration period,
                              const std::optional<EventTime>& output, bool holds) {
  (void)at_hand();
  if (domain_ == TimeDomain::kProcessingTime) {
    return SetAt(tag, ProcessingTime{AlignedUp((frame().now + offset).us, period.us)}, output, holds);
  }
  const EventTime target = EventTime::FromMicros(AlignedUp((frame().event_now + offset).us, period.us));
  if (target > frame().expires_at && frame().event_now >= frame().expires_at) return;  // its time does not come
  SetAt(tag, std::min(target, frame().expires_at), output, holds);
}

SetTimer* TimerMember::FindOrAdd(TimerSlot& at, const std::string& tag, uint32_t* number) const {
  if (!is_family_) {
    *number = 0;
    return at.timer ? &*at.timer : &at.timer.emplace();
  }
  if (at.family == nullptr) at.family = std::make_unique<std::map<std::string, TimerSlot::Tagged, std::less<>>>();
  const auto [tagged, is_new] = at.family->try_emplace(tag);
  if (is_new) tagged->second.number = at.next_number++;
  *number = tagged->second.number;
  return &tagged->second.timer;
}

void TimerMember::Enqueue(uint32_t number, SetTimer* timer, std::optional<uint64_t> sequence) {
  const TimerId id{frame().key_hash(), frame().window, IdTag(number)};
  const auto put = [&](auto* queue, auto time) {
    if (!sequence) {
      timer->sequence = queue->Set(id, time, timer->output_timestamp);
    } else {
      timer->sequence = *sequence;
      queue->Restore({id, time, timer->output_timestamp, *sequence});
    }
  };
  if (domain_ == TimeDomain::kEventTime) {
    put(frame().event_timers, EventTime{timer->time_us});
  } else {
    put(frame().processing_timers, ProcessingTime{timer->time_us});
  }
}

void TimerMember::Dequeue(uint32_t number) {
  const TimerId id{frame().key_hash(), frame().window, IdTag(number)};
  if (domain_ == TimeDomain::kEventTime) {
    frame().event_timers->Clear(id);
  } else {
    frame().processing_timers->Clear(id);
  }
}

void TimerMember::Apply(TimerSlot& at, const Pending& pending) {
  uint32_t number = 0;
  if (pending.is_set) {
    SetTimer* const timer = FindOrAdd(at, pending.tag, &number);
    timer->time_us = pending.time_us;
    timer->output_timestamp = pending.output_timestamp;
    timer->parked_at.reset();
    timer->hold = pending.holds ? frame().holds->HoldAt(pending.output_timestamp) : Hold();
    Enqueue(number, timer, std::nullopt);
    return;
  }
  if (!is_family_) {
    if (!at.timer) return;
    at.timer.reset();
    Dequeue(0);
    return;
  }
  if (at.family == nullptr) return;
  const auto tagged = at.family->find(pending.tag);
  if (tagged == at.family->end()) return;
  Dequeue(tagged->second.number);
  at.family->erase(tagged);
}

bool TimerMember::Commit(void* slot) {
  auto& at = *static_cast<TimerSlot*>(slot);
  for (const Pending& pending : pending_) Apply(at, pending);
  pending_.clear();
  return at.timer.has_value() || (at.family != nullptr && !at.family->empty());
}

void TimerMember::Forget(void* slot) {
  ForEach(slot, [this](uint32_t id_tag, const SetTimer&) { Dequeue(id_tag / kMostMembers); });
  *static_cast<TimerSlot*>(slot) = TimerSlot();
}

void TimerMember::LogAll(void* slot, std::string* out) const {
  auto& at = *static_cast<TimerSlot*>(slot);
  const auto log = [out](std::string_view tag, const SetTimer& timer) {
    PutBytes(out, tag);
    PutSigned(out, timer.time_us);
    PutSigned(out, timer.output_timestamp.us);
    out->push_back(static_cast<char>((timer.hold.is_held() ? 1 : 0) | (timer.parked_at ? 2 : 0)));
    PutVarint(out, timer.sequence);
    if (timer.parked_at) PutSigned(out, timer.parked_at->us);
  };
  PutVarint(out, (at.timer ? 1 : 0) + (at.family ? at.family->size() : 0));
  if (at.timer) log({}, *at.timer);
  if (at.family == nullptr) return;
  for (const auto& [tag, tagged] : *at.family) log(tag, tagged.timer);
}

bool TimerMember::Restore(void* slot, bool all, ByteReader& in, bool* filled) {
  Forget(slot);
  auto& at = *static_cast<TimerSlot*>(slot);
  const uint64_t count = in.Varint();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    uint32_t number = 0;
    SetTimer* const timer = FindOrAdd(at, std::string(in.Bytes()), &number);
    timer->time_us = in.Signed();
    timer->output_timestamp.us = in.Signed();
    const uint8_t flags = in.Byte();
    timer->hold = (flags & 1) != 0 ? frame().holds->HoldAt(timer->output_timestamp) : Hold();
    timer->sequence = in.Varint();
    timer->parked_at.reset();
    if ((flags & 2) != 0) {
      timer->parked_at = EventTime{in.Signed()};
    } else {
      Enqueue(number, timer, timer->sequence);
    }
  }
  *filled = count > 0;
  return in.ok();
}

}  // namespace hornbeam::engine
