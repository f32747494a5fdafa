#include "hornbeam/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/job/job.h"

namespace hornbeam {

Pipeline::Pipeline(PipelineOptions options) : options_(std::move(options)) {}
Pipeline::~Pipeline() = default;

std::vector<model::PCollectionId> Pipeline::Add(const std::string& name, const std::string& urn,
                                                std::vector<model::PCollectionId> inputs,
                                                std::shared_ptr<engine::OperatorFactory> factory,
                                                const std::vector<WindowingStrategy>& outputs, bool bounded) {
  if (!mistake_.ok()) return {};
  StatusOr<model::TransformId> id =
      graph_.Add({name, urn, std::move(inputs), {}, std::move(factory)}, outputs, bounded);
  if (!id.ok()) {
    NoteMistake(id.status());
    return {};
  }
  return graph_.transform(*id).outputs;
}

model::TransformId Pipeline::last_transform() const {
  return model::TransformId{static_cast<int32_t>(graph_.transforms().size()) - 1};
}

const WindowingStrategy& Pipeline::windowing(model::PCollectionId id) const {
  static const WindowingStrategy* const kDefault = new WindowingStrategy;
  return static_cast<int32_t>(id) < 0 ? *kDefault : graph_.collection(id).windowing;
}

bool Pipeline::bounded(model::PCollectionId id) const {
  return static_cast<int32_t>(id) >= 0 && graph_.collection(id).bounded;
}

bool Pipeline::sliced(model::PCollectionId id) const {
  return static_cast<int32_t>(id) >= 0 && graph_.collection(id).sliced;
}

void Pipeline::MarkSliced(model::PCollectionId id) {
  if (static_cast<int32_t>(id) >= 0) graph_.MarkSliced(id);
}

void Pipeline::NoteMistake(Status status) {
  if (mistake_.ok()) mistake_ = std::move(status);
}

std::string Pipeline::ParkingBefore(model::PCollectionId id) const {
  if (static_cast<int32_t>(id) < 0) return {};
  // Transforms stand in topological order, so those in front are found in one pass from the back.
  const model::TransformId last = graph_.collection(id).producer;
  std::vector<bool> is_before(static_cast<size_t>(last) + 1, false);
  is_before.back() = true;
  for (size_t i = is_before.size(); i-- > 0;) {
    if (!is_before[i]) continue;
    const model::TransformId at{static_cast<int32_t>(i)};
    if (std::find(parking_.begin(), parking_.end(), at) != parking_.end()) return graph_.transform(at).name;
    for (const model::PCollectionId input : graph_.transform(at).inputs) {
      is_before[static_cast<size_t>(graph_.collection(input).producer)] = true;
    }
  }
  return {};
}

Status Pipeline::CheckReaders() const {
  for (const model::PCollectionId id : move_only_) {
    std::vector<std::string> readers;
    for (const model::Transform& transform : graph_.transforms()) {
      for (const model::PCollectionId input : transform.inputs) {
        if (input == id) readers.push_back(absl::StrCat("'", transform.name, "'"));
      }
    }
    if (readers.size() < 2) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", graph_.transform(graph_.collection(id).producer).name, "' puts out elements that cannot be copied, and ",
                     absl::StrJoin(readers, " and "), " read them: make their type copyable, or let one transform read them"));
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<engine::Job>> Pipeline::MakeJob() {
  HB_RETURN_IF_ERROR(Annotate(mistake_, "the pipeline cannot run"));
  HB_RETURN_IF_ERROR(Annotate(CheckReaders(), "the pipeline cannot run"));
  return engine::Job::Create(graph_, options_);
}

StatusOr<engine::UpdateReport> Pipeline::CheckUpdate() const {
  HB_RETURN_IF_ERROR(Annotate(mistake_, "the pipeline cannot run"));
  return engine::Job::CheckUpdate(graph_, options_);
}

Status Pipeline::RunChecks() const {
  for (const std::function<Status()>& check : checks_) HB_RETURN_IF_ERROR(check());
  return absl::OkStatus();
}

Status Pipeline::Run() {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, MakeJob());
  const Status status = job->Run();
  metrics_.clear();
  for (engine::StepSnapshot& step : job->Snapshot().steps) {
    if (!step.metrics.empty()) metrics_.push_back({std::move(step.name), std::move(step.metrics)});
  }
  HB_RETURN_IF_ERROR(status);
  if (job->state() == engine::JobState::kCancelled) return absl::OkStatus();
  return RunChecks();
}

}  // namespace hornbeam
