// Callbacks for when the effects of a bundle are durable (Beam's BundleFinalizer).
#ifndef HORNBEAM_ENGINE_OPERATORS_BUNDLE_FINALIZER_H_
#define HORNBEAM_ENGINE_OPERATORS_BUNDLE_FINALIZER_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "engine/job/job_context.h"

namespace hornbeam::engine {

// Single-threaded: of one operator on one worker.
class BundleFinalizer {
 public:
  // `callback` is called once the epoch of this bundle is sealed, on another thread and soon, at most
  // once: a crash in between loses it, and what throws is logged and forgotten. It must not touch
  // the DoFn. Of an element that fails, what it has registered is taken back.
  void AfterBundleCommit(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

  // For operators.
  size_t size() const { return callbacks_.size(); }
  void Rollback(size_t size) { callbacks_.resize(size); }
  // The epoch ends: they are the job's from here on.
  void HandOver(JobContext* job, EpochId epoch) {
    if (callbacks_.empty()) return;
    job->AddFinalizers(epoch, std::exchange(callbacks_, {}));
  }

 private:
  std::vector<std::function<void()>> callbacks_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_BUNDLE_FINALIZER_H_
