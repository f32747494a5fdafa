// Timers that a DoFn declares as members: EventTimer and ProcessingTimer, and families of either whose timers have tags.
//
//   EventTimer flush_{"flush"};
//   ...
//   flush_.Set(context.window().MaxTimestamp());
//   flush_.WithOutputTimestamp(first).SetRelative(Minutes(1));
//
// A timer is of the key and window at hand; setting it again replaces it. It fires once: OnTimer is called, and what it was set to
// is gone. Until then the output watermark goes no further than its output timestamp, which is what OnTimer's outputs get: for an
// event timer the time it is set to, for a processing timer the timestamp of the element (or of the timer) that sets it, unless
// WithOutputTimestamp says otherwise. WithoutHold holds nothing back.
//
// Event timers fire when the watermark has passed them, in the order of their times, before their window expires. As in Beam
// (SimpleDoFnRunner), Set beyond the expiry of the window is refused with std::invalid_argument, and SetRelative is moved to it;
// one that OnTimer sets in this way at the expiry itself never fires, so a looping timer ends there. An output timestamp beyond the
// expiry is refused.
#ifndef HORNBEAM_ENGINE_TIMERS_TIMER_MEMBER_H_
#define HORNBEAM_ENGINE_TIMERS_TIMER_MEMBER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/progress/holds.h"
#include "engine/state/state_member.h"
#include "engine/timers/timer_queue.h"
#include "model/time.h"

namespace hornbeam::engine {

enum class TimeDomain { kEventTime, kProcessingTime };

// One timer that is set.
struct SetTimer {
  int64_t time_us = 0;  // in its domain
  model::EventTime output_timestamp;
  uint64_t sequence = 0;  // later settings have greater ones
  Hold hold;
  // Its callback has failed and is to be tried again: it is in no queue. How far event time had come in its operator then.
  std::optional<model::EventTime> parked_at;
};

// What a cell has of a TimerMember: of a family one for each tag that is set, otherwise at most one under the empty tag.
struct TimerSlot {
  struct Tagged {
    uint32_t number = 0;  // stands for the tag in timer ids, in this run
    SetTimer timer;
  };
  std::optional<SetTimer> timer;  // of no family
  std::unique_ptr<std::map<std::string, Tagged, std::less<>>> family;
  uint32_t next_number = 1;
};

// What is common to timers and families; for operators.
class TimerMember : public StateMemberOf<TimerSlot> {
 public:
  TimeDomain domain() const { return domain_; }

  // The tag in TimerId::tag of the timer of this member with a tag's number; 0 for that of no family.
  uint32_t IdTag(uint32_t number) const { return number * kMostMembers + static_cast<uint32_t>(this->number()); }
  static size_t MemberOf(uint32_t id_tag) { return id_tag % kMostMembers; }

  // The timer with this tag in its id, and its tag; null when it is not set.
  const SetTimer* Find(const void* slot, uint32_t id_tag, std::string_view* tag) const;
  // Part of a call: the timer fires, and is no longer set unless the call sets it again.
  void ClearFired(std::string_view tag) { Add({std::string(tag), false, 0, {}, false}); }
  // The timer with this tag in its id, which is set, has failed and is parked.
  void Park(void* slot, uint32_t id_tag, model::EventTime at) const;
  // Takes all of a cell's timers out of the queues. The frame has the cell.
  void Forget(void* slot);
  // visit(id tag, timer).
  template <typename Visit>
  void ForEach(void* slot, Visit visit) const {
    auto& at = *static_cast<TimerSlot*>(slot);
    if (at.timer) visit(IdTag(0), *at.timer);
    if (at.family == nullptr) return;
    for (auto& [tag, tagged] : *at.family) visit(IdTag(tagged.number), tagged.timer);
  }

  std::string type() const override;
  bool Commit(void* slot) override;
  void Rollback(void* slot) override { pending_.clear(); }
  // A count, and so many timers, as docs/formats/job_log.md has them.
  void LogAll(void* slot, std::string* out) const override;
  void LogChanges(void* slot, std::string* out) const override { LogAll(slot, out); }
  bool Restore(void* slot, bool all, ByteReader& in, bool* filled) override;

 protected:
  static constexpr uint32_t kMostMembers = 64;

  struct Pending {
    std::string tag;
    bool is_set;
    int64_t time_us;
    model::EventTime output_timestamp;
    bool holds;
  };
  TimerMember(std::string name, TimeDomain domain, bool is_family)
      : StateMemberOf<TimerSlot>(std::move(name)), domain_(domain), is_family_(is_family) {}
  void Add(Pending pending);

  template <typename Time>
  friend class TimerSetter;
  void SetAt(std::string_view tag, model::EventTime time, const std::optional<model::EventTime>& output, bool holds);
  void SetAt(std::string_view tag, model::ProcessingTime time, const std::optional<model::EventTime>& output, bool holds);
  void SetRelative(std::string_view tag, model::Duration offset, model::Duration period,
                   const std::optional<model::EventTime>& output, bool holds);
  void ClearAt(std::string_view tag) { Add({std::string(tag), false, 0, {}, false}); }

 private:
  SetTimer* FindOrAdd(TimerSlot& at, const std::string& tag, uint32_t* number) const;
  void Apply(TimerSlot& at, const Pending& pending);
  void Enqueue(uint32_t number, SetTimer* timer, std::optional<uint64_t> sequence);
  void Dequeue(uint32_t number);
  void CheckOutput(model::EventTime output) const;

  const TimeDomain domain_;
  const bool is_family_;
  std::vector<Pending> pending_;  // of the call under way
};

// How to set one timer. Used at once: `flush_.WithOutputTimestamp(t).Set(at)`.
template <typename Time>
class TimerSetter {
 public:
  TimerSetter(TimerMember* timer, std::string_view tag) : timer_(timer), tag_(tag) {}

  // What the outputs of OnTimer get, and what holds the watermark until then.
  TimerSetter WithOutputTimestamp(model::EventTime t) const {
    TimerSetter changed = *this;
    changed.output_ = t;
    return changed;
  }
  TimerSetter WithoutHold() const {
    TimerSetter changed = *this;
    changed.holds_ = false;
    return changed;
  }
  void Set(Time time) const { timer_->SetAt(tag_, time, output_, holds_); }
  // So long after now: the element's timestamp or the fired timer's time, or the clock. With a `period`, at the first multiple of
  // it from there on.
  void SetRelative(model::Duration offset, model::Duration period = {}) const {
    timer_->SetRelative(tag_, offset, period, output_, holds_);
  }
  void Clear() const { timer_->ClearAt(tag_); }

 private:
  TimerMember* timer_;
  std::string_view tag_;
  std::optional<model::EventTime> output_;
  bool holds_ = true;
};

template <typename Time>
constexpr TimeDomain kDomainOf = std::is_same_v<Time, model::EventTime> ? TimeDomain::kEventTime : TimeDomain::kProcessingTime;

template <typename Time>
class DeclaredTimer final : public TimerMember {
 public:
  explicit DeclaredTimer(std::string name) : TimerMember(std::move(name), kDomainOf<Time>, false) {}

  TimerSetter<Time> WithOutputTimestamp(model::EventTime t) { return Setter().WithOutputTimestamp(t); }
  TimerSetter<Time> WithoutHold() { return Setter().WithoutHold(); }
  void Set(Time time) { Setter().Set(time); }
  void SetRelative(model::Duration offset, model::Duration period = {}) { Setter().SetRelative(offset, period); }
  void Clear() { Setter().Clear(); }

 private:
  TimerSetter<Time> Setter() { return {this, {}}; }
};

template <typename Time>
class TimerFamily final : public TimerMember {
 public:
  explicit TimerFamily(std::string name) : TimerMember(std::move(name), kDomainOf<Time>, true) {}

  // The timer with this tag. `tag` outlives what is returned.
  TimerSetter<Time> Get(std::string_view tag) { return {this, tag}; }
};

using EventTimer = DeclaredTimer<model::EventTime>;
using ProcessingTimer = DeclaredTimer<model::ProcessingTime>;
using EventTimerFamily = TimerFamily<model::EventTime>;
using ProcessingTimerFamily = TimerFamily<model::ProcessingTime>;

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_TIMERS_TIMER_MEMBER_H_
