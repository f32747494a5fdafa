// What the soak test's job reads: events and prices that follow from a seed and their numbers alone, so that what has to come out
// can be computed without the engine.
//
// Event n is due at n / rate seconds. Its time lies up to kSlack before that, which is how far the watermark stays behind; of some it
// lies further back, but not so far that it may be dropped; and of a few so far that it must be, wherever the other readers are, as
// long as none is kReadersApart behind. That is what Pace sees to.
#ifndef HORNBEAM_TESTS_SOAK_SOAK_EVENTS_H_
#define HORNBEAM_TESTS_SOAK_SOAK_EVENTS_H_

#include <cstdint>
#include <string>

#include "hornbeam/types.h"

namespace hornbeam::soak {

struct SoakPlan {
  uint64_t seed = 1;
  int64_t events = 0;
  int64_t rate = 4000;  // events a second, of their own time as of ours
};

inline constexpr Duration kSlack = Seconds(2);
inline constexpr Duration kWindow = Seconds(10);
inline constexpr Duration kAllowedLateness = Seconds(25);
inline constexpr Duration kSessionGap = Seconds(4);
// The most that one reader is ahead of what is sealed of another. With kWindow, by which prices may be late, it is less than the
// allowed lateness: an event that waits for its price is still in time when the price has come.
inline constexpr Duration kReadersApart = Seconds(5);
inline constexpr int64_t kPriceClasses = 8;

struct Event {
  std::string key;
  int64_t value = 0;
  int64_t price_class = 0;
};
HORNBEAM_CODER(Event, key, value, price_class)

enum class Fate { kInTime, kLate, kTooLate };

struct TimedEvent {
  Event event;
  EventTime time;
  Fate fate = Fate::kInTime;
};

// Event time 0 is when event 0 is due.
EventTime EventDue(const SoakPlan& plan, int64_t n);
TimedEvent EventOf(const SoakPlan& plan, int64_t n);

// Window i, which is [i * kWindow, (i + 1) * kWindow), has one price for each class. They are due at a random moment in the window.
int64_t WindowOf(EventTime t);
EventTime PricesDue(const SoakPlan& plan, int64_t window);
int64_t PriceOf(const SoakPlan& plan, int64_t window, int64_t price_class);
// The windows that events may lie in: [first, end).
int64_t FirstPricedWindow();
int64_t EndOfPricedWindows(const SoakPlan& plan);

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_SOAK_EVENTS_H_
