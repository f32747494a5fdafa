#include "model/pipeline.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hornbeam::model {

StatusOr<TransformId> Pipeline::Add(Transform transform, const std::vector<WindowingStrategy>& outputs,
                                    bool bounded) {
  if (transform.name.empty()) return absl::InvalidArgumentError("a transform needs a name");
  if (std::any_of(transforms_.begin(), transforms_.end(),
                  [&](const Transform& t) { return t.name == transform.name; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("two transforms are called '", transform.name, "'; names are unique in a pipeline"));
  }
  for (PCollectionId input : transform.inputs) {
    if (static_cast<size_t>(input) >= collections_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform '", transform.name, "' reads a PCollection of another pipeline"));
    }
  }
  const TransformId id{static_cast<int32_t>(transforms_.size())};
  for (size_t i = 0; i < outputs.size(); ++i) {
    HB_RETURN_IF_ERROR(Annotate(outputs[i].Validate(), absl::StrCat("windowing of '", transform.name, "'")));
    transform.outputs.push_back(PCollectionId{static_cast<int32_t>(collections_.size())});
    collections_.push_back({absl::StrCat(transform.name, ".out", i), id, outputs[i], bounded});
  }
  transforms_.push_back(std::move(transform));
  return id;
}

}  // namespace hornbeam::model
