// A worker: one thread that runs every stage of the job on its own slices of the key space.
//
// It prefers the stages nearest the sinks, so that what is under way leaves before more comes in, and it never blocks on
// another worker: when nothing can move it parks until someone has something for it.
#ifndef HORNBEAM_ENGINE_WORKER_WORKER_H_
#define HORNBEAM_ENGINE_WORKER_WORKER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/job/job_context.h"
#include "engine/worker/parker.h"
#include "engine/worker/stage.h"

namespace hornbeam::engine {

// What a worker hands over when the marker of an epoch has passed all its stages.
struct Contribution {
  int worker = 0;
  EpochId epoch = 0;
  EpochRecords records;
  bool finished = false;  // every stage has seen the end of all its input
};

class Worker {
 public:
  // `contribute` is called on the worker's thread and must not block.
  Worker(JobContext* job, int index, std::function<void(Contribution)> contribute)
      : job_(job), index_(index), contribute_(std::move(contribute)) {}

  Stage* AddStage();  // in topological order, before Run
  std::vector<std::unique_ptr<Stage>>& stages() { return stages_; }
  const std::vector<std::unique_ptr<Stage>>& stages() const { return stages_; }
  Parker& parker() { return parker_; }
  int index() const { return index_; }

  // The coordinator: end the epoch that is open and call it `epoch`. `rewrite`: units whose whole state is to be written
  // once more. The last request has been answered.
  void RequestMarker(EpochId epoch, std::vector<UnitKey> rewrite);
  void RequestDrain();
  // Processing time was moved by hand: due timers are run before anything else. Counts as work under way.
  void NoteTimeMoved();

  // Starts the sources and passes restored watermarks on. On the worker's thread, first.
  Status Start();
  // One step. False when nothing can move.
  StatusOr<bool> RunOnce();
  // Until stopped or an error.
  Status Run(std::stop_token stop);

  model::ProcessingTime NextProcessingTime() const;

 private:
  StatusOr<bool> RunTimers();
  Status PassMarker(Stage& stage);
  StatusOr<bool> InjectMarker();

  JobContext* const job_;
  const int index_;
  const std::function<void(Contribution)> contribute_;
  Parker parker_;  // before the stages: their readers' threads wake it until they are gone
  std::vector<std::unique_ptr<Stage>> stages_;

  Mutex mutex_;
  std::vector<UnitKey> rewrite_request_ ABSL_GUARDED_BY(mutex_);
  std::atomic<EpochId> requested_{0};
  std::atomic<bool> drain_requested_{false};
  std::atomic<int> time_moved_{0};

  // The epoch being ended here.
  EpochId epoch_ = 0;
  size_t stages_to_pass_ = 0;
  std::vector<UnitKey> rewrite_;
  EpochRecords records_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_WORKER_WORKER_H_
