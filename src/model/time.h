// Event time and processing time: two types, so that one is never taken for the other.
//
// Both count microseconds since the Unix epoch. The least and greatest event times are Beam's (beam_runner_api.proto,
// BeamConstants: MIN_TIMESTAMP_MILLIS and MAX_TIMESTAMP_MILLIS), and the end of the global window lies a day before the
// greatest one, so that its last pane can still be stamped.
#ifndef HORNBEAM_MODEL_TIME_H_
#define HORNBEAM_MODEL_TIME_H_

#include <compare>
#include <cstdint>
#include <string>

namespace hornbeam::model {

namespace internal {

// Where the result leaves 64 bits, the end of them on its side.
constexpr int64_t SaturatedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}
constexpr int64_t SaturatedSubtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}
constexpr int64_t SaturatedMultiply(int64_t n, int64_t unit) {  // unit > 0
  int64_t product = 0;
  return __builtin_mul_overflow(n, unit, &product) ? (n > 0 ? INT64_MAX : INT64_MIN) : product;
}

}  // namespace internal

// A length of time in microseconds; may be negative. One that 64 bits cannot hold is the longest that they can.
struct Duration {
  int64_t us = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
};

constexpr Duration Micros(int64_t n) { return {n}; }
constexpr Duration Millis(int64_t n) { return {internal::SaturatedMultiply(n, 1000)}; }
constexpr Duration Seconds(int64_t n) { return {internal::SaturatedMultiply(n, 1'000'000)}; }
constexpr Duration Minutes(int64_t n) { return {internal::SaturatedMultiply(n, 60'000'000)}; }
constexpr Duration Hours(int64_t n) { return {internal::SaturatedMultiply(n, 3'600'000'000)}; }

inline constexpr int64_t kMinEventTimeUs = (INT64_MIN / 1000) * 1000;
inline constexpr int64_t kMaxEventTimeUs = (INT64_MAX / 1000) * 1000;

// When something happened, as the element's producer says. Arithmetic saturates at Min() and Max().
struct EventTime {
  int64_t us = kMinEventTimeUs;

  static constexpr EventTime Min() { return {kMinEventTimeUs}; }
  static constexpr EventTime Max() { return {kMaxEventTimeUs}; }
  static constexpr EventTime EndOfGlobalWindow() { return {kMaxEventTimeUs - 86'400'000'000}; }
  // The nearest that there is.
  static constexpr EventTime FromMicros(int64_t us) {
    return us < kMinEventTimeUs ? Min() : us > kMaxEventTimeUs ? Max() : EventTime{us};
  }
  static constexpr EventTime FromSeconds(int64_t s) { return FromMicros(internal::SaturatedMultiply(s, 1'000'000)); }

  friend constexpr auto operator<=>(EventTime, EventTime) = default;
  friend constexpr EventTime operator+(EventTime t, Duration d) {
    return FromMicros(internal::SaturatedAdd(t.us, d.us));
  }
  friend constexpr EventTime operator-(EventTime t, Duration d) {
    return FromMicros(internal::SaturatedSubtract(t.us, d.us));
  }
  friend constexpr Duration operator-(EventTime a, EventTime b) { return {internal::SaturatedSubtract(a.us, b.us)}; }
};

// When the engine sees something, by its own clock.
struct ProcessingTime {
  int64_t us = INT64_MIN;

  static constexpr ProcessingTime Never() { return {INT64_MAX}; }

  friend constexpr auto operator<=>(ProcessingTime, ProcessingTime) = default;
  friend constexpr ProcessingTime operator+(ProcessingTime t, Duration d) { return {internal::SaturatedAdd(t.us, d.us)}; }
  friend constexpr Duration operator-(ProcessingTime a, ProcessingTime b) {
    return {internal::SaturatedSubtract(a.us, b.us)};
  }
};

// RFC 3339 in UTC with as many digits as are needed ("2013-01-01T05:15:00Z"); "-inf" and "+inf" for Min() and Max().
std::string ToString(EventTime t);

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_TIME_H_
