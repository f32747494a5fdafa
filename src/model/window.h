// Windows and the functions that assign them (Beam's WindowFn).
//
// A window is a half-open interval of event time [start, end). The global window is the one from Min() to
// EndOfGlobalWindow(). Every window of every built-in WindowFn has this shape; windows of custom functions that carry
// more than an interval travel encoded beside it.
#ifndef HORNBEAM_MODEL_WINDOW_H_
#define HORNBEAM_MODEL_WINDOW_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "model/time.h"

namespace hornbeam::model {

struct Window {
  EventTime start = EventTime::Min();
  EventTime end = EventTime::EndOfGlobalWindow();

  static constexpr Window Global() { return {}; }
  bool is_global() const { return *this == Global(); }

  // The last instant in the window (Beam's maxTimestamp): one tick, a microsecond, before its end. The global window's
  // is its end.
  EventTime MaxTimestamp() const { return is_global() ? end : end - Micros(1); }
  // A watermark of `w` promises that nothing older than `w` will come, so the window is complete.
  bool IsPassedBy(EventTime w) const { return w > MaxTimestamp(); }

  friend constexpr auto operator<=>(const Window&, const Window&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const Window& w) {
    return H::combine(std::move(h), w.start.us, w.end.us);
  }
};

// "[2013-01-01T05:00:00Z, 2013-01-01T06:00:00Z)", "[global]".
std::string ToString(const Window& window);

// Which windows an element with a timestamp lies in (beam:window_fn:*:v1). A plain value: engines dispatch on `kind`.
struct WindowFn {
  enum class Kind { kGlobal, kFixed };

  Kind kind = Kind::kGlobal;
  Duration size{};    // kFixed: length, > 0
  Duration offset{};  // kFixed: windows start at offset + n * size; 0 <= offset < size

  static WindowFn Global() { return {}; }
  static WindowFn Fixed(Duration size, Duration offset = {}) { return {Kind::kFixed, size, offset}; }

  friend bool operator==(const WindowFn&, const WindowFn&) = default;

  // The one window of `t`, for functions that assign exactly one.
  Window AssignOne(EventTime t) const {
    if (kind == Kind::kGlobal) return Window::Global();
    int64_t past = (t.us % size.us - offset.us) % size.us;
    if (past < 0) past += size.us;
    return {t - Duration{past}, t + Duration{size.us - past}};
  }
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_WINDOW_H_
