// Pipeline and PCollection: what a program builds.
//
//   hornbeam::Pipeline pipeline(options);
//   pipeline | "Read" >> Create<std::string>({"a", "b"})
//            | "Length" >> Map([](const std::string& s) { return s.size(); });
//   Status status = pipeline.Run();
//
// `p.Apply("Name", transform)` is the same as `p | "Name" >> transform`. A transform is any type with
// `Expand(const PCollection<In>&, const std::string& name)` (or, at the root, `Expand(Pipeline&, name)`) that returns
// PCollections; it applies others under names "name/Inner". Names are unique in a pipeline: a job finds its state by them.
//
// Building never fails on the spot: the first mistake is kept and returned by Run. (A Flatten of nothing that is not told of
// its pipeline has nowhere to keep it.)
#ifndef HORNBEAM_PIPELINE_H_
#define HORNBEAM_PIPELINE_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/metrics/metric_cells.h"
#include "engine/plan/operator_factory.h"
#include "hornbeam/types.h"
#include "model/pipeline.h"

namespace hornbeam {

namespace engine {
class Job;
struct UpdateReport;
}

template <typename T>
class PCollection;

// The metrics of one transform, over all workers.
struct StepMetrics {
  std::string transform;
  std::vector<engine::MetricSnapshot> metrics;
};

class Pipeline {
 public:
  explicit Pipeline(PipelineOptions options = {});
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Applies a root transform.
  template <typename Transform>
  auto Apply(const std::string& name, const Transform& transform) {
    return transform.Expand(*this, name);
  }

  // Runs it and waits for its end. The first mistake in building, or what made the job fail.
  Status Run();
  // The job, started by the caller (engine/job/job.h); for programs that watch, drain or cancel it.
  StatusOr<std::unique_ptr<engine::Job>> MakeJob();
  // What would become of the state of the job that runs, or ran, in the options' state directory, if this pipeline went on with it.
  // Changes nothing. NOT_FOUND where no job has run there.
  StatusOr<engine::UpdateReport> CheckUpdate() const;

  const PipelineOptions& options() const { return options_; }
  PipelineOptions& options() { return options_; }

  // What user code has counted in the run that Run made, by transform (hornbeam/metrics.h); empty before.
  const std::vector<StepMetrics>& metrics() const { return metrics_; }

  // For transforms. --------------------------------------------------------------------------------------------------

  // Adds a primitive; its outputs' windowing is given. The collections' ids, or none after a mistake.
  std::vector<model::PCollectionId> Add(const std::string& name, const std::string& urn,
                                        std::vector<model::PCollectionId> inputs,
                                        std::shared_ptr<engine::OperatorFactory> factory,
                                        const std::vector<WindowingStrategy>& outputs, bool bounded);
  // The id of the transform added last.
  model::TransformId last_transform() const;
  const WindowingStrategy& windowing(model::PCollectionId id) const;
  bool bounded(model::PCollectionId id) const;
  // The elements of the collection have slices for windows (WindowFn::has_slices): what looks at their windows reads them through
  // internal::InEachWindow.
  bool sliced(model::PCollectionId id) const;
  void MarkSliced(model::PCollectionId id);
  void NoteMistake(Status status);
  // The elements of a collection cannot be copied, so one transform at most may read it.
  void NoteMoveOnly(model::PCollectionId id) { move_only_.push_back(id); }
  // The transform added last may park elements, which hold its output watermark.
  void NoteParking() { parking_.push_back(last_transform()); }
  // The name of a transform in front of the collection, however far, that may park elements; empty where there is none.
  std::string ParkingBefore(model::PCollectionId id) const;
  // Run after a job that finished: an assertion about what it put out.
  void AddCheck(std::function<Status()> check) { checks_.push_back(std::move(check)); }
  Status RunChecks() const;

 private:
  // INVALID_ARGUMENT where two transforms read a collection that cannot be copied.
  Status CheckReaders() const;

  PipelineOptions options_;
  model::Pipeline graph_;
  Status mistake_;
  std::vector<model::PCollectionId> move_only_;
  std::vector<model::TransformId> parking_;
  std::vector<std::function<Status()>> checks_;
  std::vector<StepMetrics> metrics_;
};

// A handle on a collection of the pipeline being built; copied freely. Outlived by its pipeline.
template <typename T>
class PCollection {
 public:
  using ElementT = T;

  PCollection() = default;
  PCollection(Pipeline* pipeline, model::PCollectionId id) : pipeline_(pipeline), id_(id) {}

  template <typename Transform>
  auto Apply(const std::string& name, const Transform& transform) const {
    return transform.Expand(*this, name);
  }

  Pipeline& pipeline() const { return *pipeline_; }
  model::PCollectionId id() const { return id_; }
  const WindowingStrategy& windowing() const { return pipeline_->windowing(id_); }
  bool bounded() const { return pipeline_->bounded(id_); }

 private:
  Pipeline* pipeline_ = nullptr;
  model::PCollectionId id_{-1};
};

// "Name" >> transform, to be applied with |.
template <typename Transform>
struct NamedTransform {
  std::string name;
  Transform transform;
};

// Derive from it to be applied with `"Name" >> transform`.
struct PTransform {};

template <typename Transform>
  requires std::is_base_of_v<PTransform, Transform>
NamedTransform<Transform> operator>>(const char* name, Transform transform) {
  return {name, std::move(transform)};
}

template <typename Transform>
auto operator|(Pipeline& pipeline, const NamedTransform<Transform>& named) {
  return pipeline.Apply(named.name, named.transform);
}
template <typename T, typename Transform>
auto operator|(const PCollection<T>& input, const NamedTransform<Transform>& named) {
  return input.Apply(named.name, named.transform);
}

namespace internal {

// The ids that Pipeline::Add gave, as typed handles; invalid ones after a mistake, which Run reports.
template <typename T>
PCollection<T> Handle(Pipeline& pipeline, const std::vector<model::PCollectionId>& ids, size_t i = 0) {
  if (i >= ids.size()) return PCollection<T>(&pipeline, model::PCollectionId{-1});
  if constexpr (!std::is_copy_constructible_v<T>) pipeline.NoteMoveOnly(ids[i]);
  return PCollection<T>(&pipeline, ids[i]);
}

}  // namespace internal

}  // namespace hornbeam

#endif  // HORNBEAM_PIPELINE_H_
