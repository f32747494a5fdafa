// One run of a pipeline: recovers what an earlier run left, runs the workers, and ends when all input has ended.
#ifndef HORNBEAM_ENGINE_JOB_JOB_H_
#define HORNBEAM_ENGINE_JOB_JOB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/rng.h"
#include "base/status.h"
#include "engine/epoch/committer.h"
#include "engine/epoch/job_log.h"
#include "engine/job/epoch_coordinator.h"
#include "engine/job/job_context.h"
#include "engine/job/job_snapshot.h"
#include "engine/job/update_report.h"
#include "engine/plan/plan.h"
#include "engine/sink/sink_delivery.h"
#include "engine/worker/worker.h"
#include "model/pipeline.h"

namespace hornbeam::engine {

class Job {
 public:
  // Plans the pipeline and opens the log, connecting to nothing yet. INVALID_ARGUMENT for a pipeline that cannot run;
  // the log's errors as JobLog::Open has them.
  static StatusOr<std::unique_ptr<Job>> Create(model::Pipeline pipeline, JobOptions options);
  ~Job();  // cancels what still runs

  // Recovers, opens sources and sinks (blocking), and starts the threads.
  Status Start();
  // Until the job is done, cancelled or failed; the error of a failed job.
  Status Wait();
  // Whether the pipeline could take over the state of the job that ran, or runs, in the options' state directory, and what would
  // become of each step. Changes nothing and needs no lock. NOT_FOUND where no job has run there.
  static StatusOr<UpdateReport> CheckUpdate(const model::Pipeline& pipeline, const JobOptions& options);

  // Start and Wait; in a deterministic run everything happens on this thread.
  Status Run();

  // Any thread.
  void Cancel();  // stops where it is; what is sealed stays, and a new run goes on from there
  // Sources take in nothing new; what is under way is finished, windows close, the job ends. Noted in the log: a job that is
  // killed meanwhile goes on with its drain when it is started again, and one that was drained cannot be.
  void Drain();
  // Saves all state, as of one epoch of which every sink has confirmed all, to a directory that is new; another job can begin with
  // it (JobOptions::restore_from). Epochs wait meanwhile. `done` is called once, from a thread of the job:
  // FAILED_PRECONDITION where the job has ended or keeps no state.
  void SaveSnapshot(std::string directory, std::function<void(Status)> done);
  JobState state() const { return state_.load(std::memory_order_acquire); }
  JobSnapshot Snapshot() const;
  JobContext& context() { return context_; }
  const Plan& plan() const { return plan_; }
  EpochId last_sealed() const { return coordinator_->last_sealed(); }

  // Deterministic runs: once this many epochs were sealed in this run (0: never stops), and `steps` steps later, calls
  // `at_stop`, and stops as Cancel does. A test that cuts the power there makes it a crash: nothing that comes after reaches
  // the disk.
  void StopAfterEpochs(int epochs, int steps = 0, std::function<void()> at_stop = nullptr) {
    stop_after_epochs_ = epochs;
    stop_after_steps_ = steps;
    at_stop_ = std::move(at_stop);
  }

 private:
  Job(model::Pipeline pipeline, JobOptions options);

  class Recovery;
  struct Connected {
    const PlanEdge* edge;
    std::vector<std::vector<std::unique_ptr<Channel>>> channels;  // [from][to]
  };

  Status TakeOverState();
  OperatorId StateIdOf(model::TransformId transform) const;
  Status MakeDeliveries();
  SinkDelivery::Readers ReadersOf(const model::Transform& sink) const;
  Status MakeWorkers();
  Status MakeStage(int worker, int stage);
  void MakeChannels();
  StatusOr<std::unique_ptr<Operator>> MakeOperator(const PlanNode& node, Stage& stage);
  Status Recover();
  Status RunThreads();
  Status RunDeterministically();
  StatusOr<bool> StepSomething(Rng& rng);
  void Fail(Status status);
  Status StopAll();
  void Conclude();
  enum class End : uint8_t { kNone, kDraining, kDrained, kDone };
  Status NoteEnd(End end);
  Status GoOnFrom(End end);

  const model::Pipeline pipeline_;
  PipelineManifest manifest_;  // of this run
  JobContext context_;
  Plan plan_;
  std::unique_ptr<JobLog> log_;
  EpochRecords dropped_ends_;  // ends state that this run has dropped
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<EpochCoordinator> coordinator_;
  std::map<model::TransformId, std::unique_ptr<SinkDelivery>> deliveries_;
  std::vector<Connected> edges_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::jthread> threads_;
  std::jthread coordinator_thread_;

  std::atomic<JobState> state_{JobState::kStarting};
  std::atomic<bool> cancelled_{false};
  int64_t started_at_us_ = 0;
  int stop_after_epochs_ = 0;
  int stop_after_steps_ = 0;
  std::function<void()> at_stop_;
  End noted_end_ = End::kNone;  // by an earlier run
  bool closed_ = false;
  mutable Mutex mutex_;
  Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_JOB_H_
