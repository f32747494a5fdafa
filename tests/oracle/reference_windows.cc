#include "reference_windows.h"

#include <algorithm>

namespace hornbeam::oracle {
namespace {

using model::EventTime;
using model::Window;

// No window goes on behind the global one, so that its last pane can be windowed anew.
constexpr EventTime kEndOfTime = EventTime::EndOfGlobalWindow() + model::Micros(1);

// The greatest start at or before `t` of windows that start every `period` from `offset`.
int64_t LastStartUs(EventTime t, model::Duration period, model::Duration offset) {
  int64_t past = (t.us - offset.us) % period.us;
  if (past < 0) past += period.us;
  return t.us - past;
}

}  // namespace

std::vector<Window> AssignWindows(const model::WindowFn& fn, EventTime timestamp) {
  switch (fn.kind) {
    case model::WindowFn::Kind::kGlobal: return {Window::Global()};
    case model::WindowFn::Kind::kFixed: {
      const int64_t start = LastStartUs(timestamp, fn.size, fn.offset);
      return {{{start}, std::min<EventTime>({start + fn.size.us}, kEndOfTime)}};
    }
    case model::WindowFn::Kind::kSliding: {
      std::vector<Window> windows;
      for (int64_t start = LastStartUs(timestamp, fn.period, fn.offset); start > timestamp.us - fn.size.us; start -= fn.period.us) {
        windows.push_back({{start}, std::min<EventTime>({start + fn.size.us}, kEndOfTime)});
      }
      std::reverse(windows.begin(), windows.end());  // nobody promises an order
      return windows;
    }
    default: break;  // not in random pipelines yet
  }
  return {};
}

}  // namespace hornbeam::oracle
