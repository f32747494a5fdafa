#include "soak_events.h"

#include "absl/strings/str_cat.h"
#include "base/rng.h"

namespace hornbeam::soak {
namespace {

constexpr int64_t kKeys = 500;
// A key has events for a while and is then quiet for longer than a session's gap.
constexpr int64_t kKeysAtATime = 50;
constexpr Duration kKeysChange = Seconds(2);

Rng RngOf(const SoakPlan& plan, uint64_t what, int64_t n) {
  Rng rng(plan.seed * 0x9e3779b97f4a7c15ull + what);
  return Rng(rng.Next() ^ static_cast<uint64_t>(n) * 0xbf58476d1ce4e5b9ull);
}

Duration Below(Rng& rng, Duration bound) { return Micros(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(bound.us)))); }

Fate FateOf(Rng& rng, EventTime due) {
  const uint64_t roll = rng.Below(400);
  if (roll < 8) return Fate::kLate;
  // Before all readers have come that far, nothing is certain to be dropped.
  if (roll == 8 && due > EventTime::FromMicros(0) + kReadersApart) return Fate::kTooLate;
  return Fate::kInTime;
}

Duration BehindDue(Rng& rng, Fate fate) {
  const Duration in_time = Below(rng, kSlack);
  switch (fate) {
    case Fate::kInTime: return in_time;
    case Fate::kLate: return Micros(kSlack.us + Below(rng, kAllowedLateness).us);
    case Fate::kTooLate:
      // The watermark may be so far behind, and has to have passed the window's end and the allowed lateness.
      return Micros(kReadersApart.us + kSlack.us + kAllowedLateness.us + kWindow.us + 1000 + in_time.us);
  }
  return in_time;
}

}  // namespace

EventTime EventDue(const SoakPlan& plan, int64_t n) { return EventTime::FromMicros(n * 1'000'000 / plan.rate); }

TimedEvent EventOf(const SoakPlan& plan, int64_t n) {
  Rng rng = RngOf(plan, 1, n);
  const EventTime due = EventDue(plan, n);
  TimedEvent timed;
  timed.fate = FateOf(rng, due);
  timed.time = due - BehindDue(rng, timed.fate);
  const int64_t change = due.us / kKeysChange.us;
  const int64_t key = (change * kKeysAtATime + static_cast<int64_t>(rng.Below(kKeysAtATime))) % kKeys;
  timed.event = {absl::StrCat("key", key), 1 + static_cast<int64_t>(rng.Below(1000)), static_cast<int64_t>(rng.Below(kPriceClasses))};
  return timed;
}

int64_t WindowOf(EventTime t) {
  const int64_t whole = t.us / kWindow.us;
  return t.us % kWindow.us < 0 ? whole - 1 : whole;
}

EventTime PricesDue(const SoakPlan& plan, int64_t window) {
  Rng rng = RngOf(plan, 2, window);
  return EventTime::FromMicros(window * kWindow.us) + Below(rng, kWindow);
}

int64_t PriceOf(const SoakPlan& plan, int64_t window, int64_t price_class) {
  Rng rng = RngOf(plan, 3, window * kPriceClasses + price_class);
  return 1 + static_cast<int64_t>(rng.Below(100));
}

int64_t FirstPricedWindow() { return WindowOf(EventTime::FromMicros(0) - kSlack - kAllowedLateness) - 1; }
int64_t EndOfPricedWindows(const SoakPlan& plan) { return WindowOf(EventDue(plan, plan.events)) + 1; }

}  // namespace hornbeam::soak
