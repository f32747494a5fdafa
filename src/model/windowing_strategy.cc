#include "model/windowing_strategy.h"

namespace hornbeam::model {

Status WindowingStrategy::Validate() const {
  if (window_fn.kind == WindowFn::Kind::kFixed && window_fn.size <= Duration{}) {
    return absl::InvalidArgumentError("a fixed window needs a size above zero");
  }
  if (allowed_lateness < Duration{}) {
    return absl::InvalidArgumentError("allowed lateness must not be negative");
  }
  return Annotate(trigger.Validate(), "trigger");
}

}  // namespace hornbeam::model
