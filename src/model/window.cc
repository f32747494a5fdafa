#include "model/window.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace hornbeam::model {
namespace {

std::string ToText(Duration d) { return absl::FormatDuration(absl::Microseconds(d.us)); }

Status CheckPositive(Duration d, const char* what) {
  if (d > Duration{}) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " must be above zero"));
}

// Windows that have an instant in common become one. In ascending order, one pass finds them.
void MergeOverlapping(const std::vector<Window>& windows, std::vector<CustomWindowFn::MergeResult>* merges) {
  CustomWindowFn::MergeResult run;
  const auto end_run = [&] {
    if (run.from.size() > 1) merges->push_back(run);
  };
  for (const Window& window : windows) {
    if (!run.from.empty() && window.start < run.into.end) {
      run.into.end = std::max(run.into.end, window.end);
      run.from.push_back(window);
      continue;
    }
    end_run();
    run = {{window}, window};
  }
  end_run();
}

}  // namespace

std::string ToString(const Window& window) {
  if (window.is_global()) return "[global]";
  return absl::StrCat("[", ToString(window.start), ", ", ToString(window.end), ")");
}

std::string ToString(const WindowFn& fn) {
  const std::string shifted = fn.offset == Duration{} ? "" : absl::StrCat(" from ", ToText(fn.offset));
  switch (fn.kind) {
    case WindowFn::Kind::kGlobal: return "global";
    case WindowFn::Kind::kFixed: return absl::StrCat("fixed ", ToText(fn.size), shifted);
    case WindowFn::Kind::kSliding:
      return absl::StrCat("sliding ", ToText(fn.size), " every ", ToText(fn.period), shifted);
    case WindowFn::Kind::kSessions: return absl::StrCat("sessions ", ToText(fn.size));
    case WindowFn::Kind::kCustom: return fn.custom == nullptr ? "custom" : fn.custom->Describe();
  }
  return {};
}

void WindowFn::Assign(EventTime t, std::vector<Window>* windows) const {
  if (kind == Kind::kCustom) return custom->Assign(t, windows);
  if (kind != Kind::kSliding) return windows->push_back(AssignOne(t));
  // Starts are offset + n * period, in (t - size, t].
  const EventTime last = Interval(t, period).start;
  const int64_t count = (last.us - (t - size).us + period.us - 1) / period.us;
  for (int64_t back = count - 1; back >= 0; --back) {
    const EventTime start = last - Duration{back * period.us};
    windows->push_back({start, Clip(start + size)});
  }
}

Window WindowFn::OfMainWindow(const Window& main) const {
  const EventTime t = main.MaxTimestamp();
  if (assigns_one()) return AssignOne(t);
  std::vector<Window> windows;
  Assign(t, &windows);
  return windows.empty() ? main : *std::max_element(windows.begin(), windows.end());
}

void WindowFn::Merge(const std::vector<Window>& windows, std::vector<CustomWindowFn::MergeResult>* merges) const {
  kind == Kind::kSessions ? MergeOverlapping(windows, merges) : custom->Merge(windows, merges);
}

Status WindowFn::Validate() const {
  switch (kind) {
    case Kind::kGlobal: return absl::OkStatus();
    case Kind::kFixed:
      HB_RETURN_IF_ERROR(CheckPositive(size, "the size of a fixed window"));
      break;
    case Kind::kSliding:
      HB_RETURN_IF_ERROR(CheckPositive(size, "the size of a sliding window"));
      HB_RETURN_IF_ERROR(CheckPositive(period, "the period of sliding windows"));
      if (size.us / period.us > 100'000) {
        return absl::InvalidArgumentError(absl::StrCat("with windows of ", ToText(size), " every ", ToText(period),
                                                       " every element lies in more than 100,000 of them; make the period longer"));
      }
      break;
    case Kind::kSessions: return CheckPositive(size, "the gap of sessions");
    case Kind::kCustom:
      return custom != nullptr ? absl::OkStatus() : absl::InvalidArgumentError("a custom window function is missing");
  }
  const Duration step = kind == Kind::kFixed ? size : period;
  if (offset < Duration{} || offset >= step) {
    return absl::InvalidArgumentError(absl::StrCat("the offset of windows, ", ToText(offset), ", must be at least zero and below ",
                                                   ToText(step)));
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::model
