#include "model/windowing_strategy.h"

#include "absl/strings/str_cat.h"

namespace hornbeam::model {

Status WindowingStrategy::Validate() const {
  HB_RETURN_IF_ERROR(window_fn.Validate());
  if (allowed_lateness < Duration{}) {
    return absl::InvalidArgumentError("allowed lateness must not be negative");
  }
  return Annotate(trigger.Validate(), "trigger");
}

Status WindowingStrategy::ValidateForGrouping(bool bounded) const {
  if (!bounded && window_fn.kind == WindowFn::Kind::kGlobal && trigger.kind == Trigger::Kind::kDefault) {
    return absl::InvalidArgumentError(
        "an unbounded collection in the global window has no end at which its default trigger could fire: give it windows or "
        "another trigger with WindowInto");
  }
  if (trigger.MayLoseData(allowed_lateness)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trigger ", ToString(trigger), " may finish before all elements of a window have come, and those that "
                     "come then are lost: wrap it in Repeatedly, or give AfterWatermark a late trigger"));
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::model
