#include "reference_windows.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/status.h"

namespace hornbeam::oracle {
namespace {

using model::EventTime;
using model::Window;
using Merges = std::vector<model::CustomWindowFn::MergeResult>;

// No window goes on behind the global one, so that its last pane can be windowed anew.
constexpr EventTime kEndOfTime = EventTime::EndOfGlobalWindow() + model::Micros(1);

Window Interval(int64_t start_us, model::Duration size) {
  return {{start_us}, std::min(EventTime{start_us} + size, kEndOfTime)};
}

// The greatest start at or before `t` of windows that start every `period` from `offset`.
int64_t LastStartUs(EventTime t, model::Duration period, model::Duration offset) {
  int64_t past = (t.us - offset.us) % period.us;
  if (past < 0) past += period.us;
  return t.us - past;
}

// Calendar windows as their description has them ("calendar 2 days from 2024-03-22 Europe/Berlin"),
// one after another from about where the timestamp lies.
class ReferenceCalendar {
 public:
  explicit ReferenceCalendar(const std::string& description) {
    const std::vector<std::string> words = absl::StrSplit(description, ' ');
    HB_CHECK(words.size() == 6 && absl::SimpleAtoi(words[1], &count_) &&
             absl::ParseCivilTime(words[4], &first_) && absl::LoadTimeZone(words[5], &zone_));
    unit_ = words[2];
  }

  Window WindowOf(EventTime t) const {
    const int64_t days = (t.us - StartOf(0).us) / 86'400'000'000;
    int64_t n = days / (count_ * (unit_ == "days" ? 1 : unit_ == "months" ? 30 : 365));
    while (StartOf(n) > t) --n;
    while (StartOf(n + 1) <= t) ++n;
    return {StartOf(n), std::min(StartOf(n + 1), kEndOfTime)};
  }

 private:
  EventTime StartOf(int64_t n) const {
    absl::CivilDay day = first_ + n * count_;
    if (unit_ == "months") day = absl::CivilDay(first_.year(), first_.month() + n * count_, first_.day());
    if (unit_ == "years") day = absl::CivilDay(first_.year() + n * count_, first_.month(), first_.day());
    return EventTime::FromMicros(absl::ToUnixMicros(absl::FromCivil(absl::CivilSecond(day), zone_)));
  }

  int64_t count_ = 0;
  std::string unit_;
  absl::CivilDay first_;
  absl::TimeZone zone_;
};

bool Overlap(const Window& a, const Window& b) { return a.start < b.end && b.start < a.end; }

// Any two that overlap become one, until none do.
Merges MergeOverlapping(const std::vector<Window>& windows) {
  Merges merges;
  for (const Window& window : windows) {
    model::CustomWindowFn::MergeResult merged{{window}, window};
    for (size_t i = 0; i < merges.size();) {
      if (!Overlap(merges[i].into, merged.into)) {
        ++i;
        continue;
      }
      merged.from.insert(merged.from.end(), merges[i].from.begin(), merges[i].from.end());
      merged.into = {std::min(merged.into.start, merges[i].into.start),
                     std::max(merged.into.end, merges[i].into.end)};
      merges.erase(merges.begin() + static_cast<ptrdiff_t>(i));
      i = 0;
    }
    merges.push_back(merged);
  }
  std::erase_if(merges, [](const auto& merge) { return merge.from.size() < 2; });
  return merges;
}

}  // namespace

std::vector<Window> AssignWindows(const model::WindowFn& fn, EventTime timestamp) {
  std::vector<Window> windows;
  switch (fn.kind) {
    case model::WindowFn::Kind::kGlobal: return {Window::Global()};
    case model::WindowFn::Kind::kFixed:
      return {Interval(LastStartUs(timestamp, fn.size, fn.offset), fn.size)};
    case model::WindowFn::Kind::kSliding: {
      int64_t start = LastStartUs(timestamp, fn.period, fn.offset);
      for (; start > timestamp.us - fn.size.us; start -= fn.period.us) {
        windows.push_back(Interval(start, fn.size));
      }
      std::reverse(windows.begin(), windows.end());
      return windows;
    }
    case model::WindowFn::Kind::kSessions: return {Interval(timestamp.us, fn.size)};
    case model::WindowFn::Kind::kCustom: {
      const std::string description = fn.custom->Describe();
      if (absl::StartsWith(description, "calendar ")) {
        return {ReferenceCalendar(description).WindowOf(timestamp)};
      }
      fn.custom->Assign(timestamp, &windows);
      return windows;
    }
  }
  return windows;
}

Window SideWindow(const model::WindowFn& fn, const Window& window) {
  const std::vector<Window> windows = AssignWindows(fn, window.MaxTimestamp());
  return windows.empty() ? window : windows.back();
}

Merges MergeWindows(const model::WindowFn& fn, const std::vector<Window>& windows) {
  if (fn.kind == model::WindowFn::Kind::kSessions) return MergeOverlapping(windows);
  Merges merges;
  fn.custom->Merge(windows, &merges);
  return merges;
}

}  // namespace hornbeam::oracle
