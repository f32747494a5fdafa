#include "hornbeam/pipeline.h"

#include <utility>

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

void Pipeline::NoteMistake(Status status) {
  if (mistake_.ok()) mistake_ = std::move(status);
}

StatusOr<std::unique_ptr<engine::Job>> Pipeline::MakeJob() {
  HB_RETURN_IF_ERROR(Annotate(mistake_, "the pipeline cannot run"));
  return engine::Job::Create(graph_, options_);
}

Status Pipeline::RunChecks() const {
  for (const std::function<Status()>& check : checks_) HB_RETURN_IF_ERROR(check());
  return absl::OkStatus();
}

Status Pipeline::Run() {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, MakeJob());
  HB_RETURN_IF_ERROR(job->Run());
  if (job->state() == engine::JobState::kCancelled) return absl::OkStatus();
  return RunChecks();
}

}  // namespace hornbeam
