// What a DoFn sees of the element at hand.
#ifndef HORNBEAM_ENGINE_OPERATORS_ELEMENT_CONTEXT_H_
#define HORNBEAM_ENGINE_OPERATORS_ELEMENT_CONTEXT_H_

#include <string>

#include "engine/batch.h"
#include "engine/job/job_context.h"
#include "engine/operators/bundle_finalizer.h"

namespace hornbeam::engine {

class ElementContext {
 public:
  model::EventTime timestamp() const { return batch_->timestamps[index_]; }
  const model::Window& window() const { return batch_->windows[index_]; }
  const model::PaneInfo& pane() const { return batch_->panes[index_]; }
  model::ProcessingTime processing_time() const { return job_->Now(); }
  // The operator's transform, for messages.
  const std::string& transform() const { return *transform_; }
  // For what is to happen once the effects of this element are durable.
  BundleFinalizer& bundle_finalizer() const { return *finalizer_; }

  // For operators. What is given outlives the context.
  void Open(JobContext* job, const std::string* transform, BundleFinalizer* finalizer) {
    job_ = job;
    transform_ = transform;
    finalizer_ = finalizer;
  }
  void TakeUp(const Batch* batch) { batch_ = batch; }
  void MoveTo(size_t index) { index_ = index; }

 private:
  const Batch* batch_ = nullptr;
  size_t index_ = 0;
  JobContext* job_ = nullptr;
  const std::string* transform_ = nullptr;
  BundleFinalizer* finalizer_ = nullptr;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_ELEMENT_CONTEXT_H_
