// Windows and the functions that assign them (Beam's WindowFn).
//
// A window is a half-open interval of event time [start, end). The global window is the one from Min() to
// EndOfGlobalWindow(). Every window of every built-in WindowFn has this shape; windows of custom functions that carry
// more than an interval travel encoded beside it.
#ifndef HORNBEAM_MODEL_WINDOW_H_
#define HORNBEAM_MODEL_WINDOW_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
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

// A WindowFn of the program's own. Immutable and thread-safe: it is called on all workers at once.
class CustomWindowFn {
 public:
  virtual ~CustomWindowFn() = default;

  // What it is, with all parameters: "calendar days 1 from 2020-01-01 Europe/Berlin". Those with equal descriptions are the same.
  virtual std::string Describe() const = 0;

  // Whether every timestamp lies in exactly one window, and windows do not overlap; then AssignOne is called, otherwise Assign.
  virtual bool is_partition() const { return false; }
  virtual Window AssignOne(EventTime t) const { return Window::Global(); }
  // Appends the windows of `t`, none twice. None at all drops the element.
  virtual void Assign(EventTime t, std::vector<Window>* windows) const { windows->push_back(AssignOne(t)); }

  // Whether windows of a key merge, as sessions do: then Merge is asked whenever a key has a new window.
  virtual bool merges() const { return false; }
  // `windows` are a key's, in ascending order, none twice. Appends to *merges which of them become which other one; a window
  // has a part in one merge at most. A merge of the same windows in another order, or one after another, has the same result.
  struct MergeResult {
    std::vector<Window> from;
    Window into;
  };
  virtual void Merge(const std::vector<Window>& windows, std::vector<MergeResult>* merges) const {}
};

// Which windows an element with a timestamp lies in (beam:window_fn:*:v1). A plain value: engines dispatch on `kind`.
struct WindowFn {
  enum class Kind { kGlobal, kFixed, kSliding, kSessions, kCustom };

  Kind kind = Kind::kGlobal;
  Duration size{};    // kFixed, kSliding: length, > 0. kSessions: the gap, > 0
  Duration offset{};  // kFixed, kSliding: windows start at offset + n * (size or period); 0 <= offset < that
  Duration period{};  // kSliding: a window starts every period; > 0
  std::shared_ptr<const CustomWindowFn> custom{};  // kCustom

  static WindowFn Global() { return {}; }
  static WindowFn Fixed(Duration size, Duration offset = {}) { return {Kind::kFixed, size, offset}; }
  static WindowFn Sliding(Duration size, Duration period, Duration offset = {}) {
    return {Kind::kSliding, size, offset, period};
  }
  static WindowFn Sessions(Duration gap) { return {Kind::kSessions, gap}; }
  static WindowFn Custom(std::shared_ptr<const CustomWindowFn> fn) {
    return {Kind::kCustom, {}, {}, {}, std::move(fn)};
  }

  // They assign, and merge, the same windows.
  friend bool operator==(const WindowFn& a, const WindowFn& b) {
    if (a.kind != b.kind || a.size != b.size || a.offset != b.offset || a.period != b.period) return false;
    return a.custom == b.custom || (a.custom != nullptr && b.custom != nullptr && a.custom->Describe() == b.custom->Describe());
  }

  // Every timestamp lies in exactly one window, and windows do not overlap.
  bool is_partition() const {
    return kind == Kind::kGlobal || kind == Kind::kFixed || (kind == Kind::kCustom && custom != nullptr && custom->is_partition());
  }
  bool assigns_one() const { return kind == Kind::kSessions || is_partition(); }
  bool merges() const { return kind == Kind::kSessions || (kind == Kind::kCustom && custom != nullptr && custom->merges()); }
  // Its windows can be put together of equal slices, each in several of them.
  bool has_slices() const { return kind == Kind::kSliding; }

  // The one window of `t`. REQUIRES: assigns_one(). A session is at first that of its only element.
  Window AssignOne(EventTime t) const {
    switch (kind) {
      case Kind::kGlobal: return Window::Global();
      case Kind::kFixed: return Interval(t, size);
      case Kind::kSessions: return {t, Clip(t + size)};
      default: return custom->AssignOne(t);
    }
  }
  // Appends all windows of `t`, the earliest first.
  void Assign(EventTime t, std::vector<Window>* windows) const;

  // kSliding: the slice in which `t` lies. All elements of a slice lie in the same windows.
  Window SliceOf(EventTime t) const { return Interval(t, Slice()); }
  // kSliding: the length of a slice: the greatest that divides size and period.
  Duration Slice() const { return {std::gcd(size.us, period.us)}; }
  // kSliding: appends the windows of a slice, the earliest first.
  void WindowsOfSlice(const Window& slice, std::vector<Window>* windows) const { Assign(slice.start, windows); }

  // A side input with these windows is seen, by an element of a main input's window, in the window of that window's last instant:
  // of several, in the latest. REQUIRES: !merges().
  Window OfMainWindow(const Window& main) const;

  // Which of a key's windows become one; `windows` as for CustomWindowFn::Merge. REQUIRES: merges().
  void Merge(const std::vector<Window>& windows, std::vector<CustomWindowFn::MergeResult>* merges) const;

  // INVALID_ARGUMENT for sizes that cannot be.
  Status Validate() const;

 private:
  // None goes on behind the global window, whose last pane may be windowed anew.
  static EventTime Clip(EventTime end) { return std::min(end, EventTime::EndOfGlobalWindow() + Micros(1)); }
  Window Interval(EventTime t, Duration length) const {
    int64_t past = (t.us % length.us - offset.us) % length.us;
    if (past < 0) past += length.us;
    return {t - Duration{past}, Clip(t + Duration{length.us - past})};
  }
};

// "fixed 60 s", "sliding 1 h every 60 s", "sessions 10 s".
std::string ToString(const WindowFn& fn);

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_WINDOW_H_
