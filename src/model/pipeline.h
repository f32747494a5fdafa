// The one graph that every front end lowers to and the engine runs (beam_runner_api.proto, Pipeline; composites keep
// only their names, as "Outer/Inner" prefixes).
#ifndef HORNBEAM_MODEL_PIPELINE_H_
#define HORNBEAM_MODEL_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/windowing_strategy.h"

namespace hornbeam::model {

enum class TransformId : int32_t {};
enum class PCollectionId : int32_t {};

// What a front end attaches to a transform for the engine to run it: an engine::OperatorFactory. Opaque here.
class TransformPayload {
 public:
  virtual ~TransformPayload() = default;
};

struct Transform {
  std::string name;  // unique in the pipeline; state is found again by it after a restart
  std::string urn;   // what it is, "beam:transform:pardo:v1"
  std::vector<PCollectionId> inputs;
  std::vector<PCollectionId> outputs;
  std::shared_ptr<const TransformPayload> payload;
};

struct PCollection {
  std::string name;
  TransformId producer{};
  WindowingStrategy windowing;
  bool bounded = false;
  // The window of an element is the slice in which it lies, of several windows at once (WindowFn::has_slices).
  bool sliced = false;
};

// Transforms stand in topological order: each one's inputs are outputs of earlier ones. A value type.
class Pipeline {
 public:
  // INVALID_ARGUMENT when the name is taken or an input does not exist. Adds one PCollection per windowing strategy
  // given, as outputs in that order.
  StatusOr<TransformId> Add(Transform transform, const std::vector<WindowingStrategy>& outputs, bool bounded);

  // The collection's elements have slices for windows.
  void MarkSliced(PCollectionId id) { collections_[static_cast<size_t>(id)].sliced = true; }

  const Transform& transform(TransformId id) const { return transforms_[static_cast<size_t>(id)]; }
  const PCollection& collection(PCollectionId id) const { return collections_[static_cast<size_t>(id)]; }
  const std::vector<Transform>& transforms() const { return transforms_; }
  const std::vector<PCollection>& collections() const { return collections_; }

 private:
  std::vector<Transform> transforms_;
  std::vector<PCollection> collections_;
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_PIPELINE_H_
