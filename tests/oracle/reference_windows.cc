#include "reference_windows.h"

#include <algorithm>

namespace hornbeam::oracle {
namespace {

using model::EventTime;
using model::Window;
using Merges = std::vector<model::CustomWindowFn::MergeResult>;

// No window goes on behind the global one, so that its last pane can be windowed anew.
constexpr EventTime kEndOfTime = EventTime::EndOfGlobalWindow() + model::Micros(1);

Window Interval(int64_t start_us, model::Duration size) {
  return {{start_us}, std::min<EventTime>({start_us + size.us}, kEndOfTime)};
}

// The greatest start at or before `t` of windows that start every `period` from `offset`.
int64_t LastStartUs(EventTime t, model::Duration period, model::Duration offset) {
  int64_t past = (t.us - offset.us) % period.us;
  if (past < 0) past += period.us;
  return t.us - past;
}

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
    case model::WindowFn::Kind::kCustom: fn.custom->Assign(timestamp, &windows); return windows;
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
