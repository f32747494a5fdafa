#include "known_open.h"

#include <algorithm>

namespace hornbeam::oracle {
namespace {

using model::Trigger;

bool Has(const Trigger& trigger, Trigger::Kind kind) {
  return trigger.kind == kind ||
         std::any_of(trigger.children.begin(), trigger.children.end(),
                     [kind](const Trigger& child) { return Has(child, kind); });
}

bool IsGlobal(const PipelineSpec& spec, int step) {
  return WindowingOf(spec, step).window_fn.kind == model::WindowFn::Kind::kGlobal;
}

std::string OfGrouping(const model::WindowingStrategy& w, const TestMode& mode) {
  const bool has_lateness = w.allowed_lateness > model::Duration{};
  if (has_lateness && Has(w.trigger, Trigger::Kind::kAlways)) {
    return "Always is not asked at the end of a window that allows lateness";
  }
  if (w.timestamp_combiner != model::TimestampCombiner::kEndOfWindow) {
    return "holds of elements behind the watermark, with EARLIEST and LATEST";
  }
  if (has_lateness && mode.crashes && Has(w.trigger, Trigger::Kind::kAfterEach)) {
    return "a restart asks triggers again at ends of windows that had passed before";
  }
  return "";
}

}  // namespace

std::string KnownOpen(const PipelineSpec& spec, const TestMode& mode) { return ""; }

}  // namespace hornbeam::oracle
