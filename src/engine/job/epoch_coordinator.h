// Starts epochs, gathers what the workers hand over, has it made durable, and tells sources and sinks.
//
// One epoch is open or sealing at a time; the next starts when the last is durable, so that the disk sets the pace. At-least-once,
// an epoch is sealed only when every sink has confirmed its rows: they are not in the log, while the state that they came of
// (a pane that has fired, keys that were seen) ends with the seal. The workers go on meanwhile.
//
// All of it happens on the coordinator's thread, except what is marked.
#ifndef HORNBEAM_ENGINE_JOB_EPOCH_COORDINATOR_H_
#define HORNBEAM_ENGINE_JOB_EPOCH_COORDINATOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/epoch/committer.h"
#include "engine/epoch/job_log.h"
#include "engine/job/job_context.h"
#include "engine/sink/sink_delivery.h"
#include "engine/worker/worker.h"

namespace hornbeam::engine {

class EpochCoordinator {
 public:
  struct Sink {
    OperatorId op{};
    SinkDelivery* delivery = nullptr;
  };

  // `log` and `committer` are null for a job that keeps nothing. All outlive the coordinator.
  EpochCoordinator(JobContext* job, JobLog* log, Committer* committer)
      : job_(job), log_(log), committer_(committer), last_epoch_(job->first_epoch() - 1) {}

  void SetWorkers(std::vector<Worker*> workers) { workers_ = std::move(workers); }
  void SetSinks(std::vector<Sink> sinks) { sinks_ = std::move(sinks); }

  // Any thread.
  void Contribute(Contribution contribution);
  void OnCommitted(StatusOr<EpochId> sealed);

  // Any thread. Calls `f` on the coordinator's thread once, when no epoch is open and every sink has what is sealed; no epoch is
  // opened before. With the newest sealed epoch.
  void RunBetweenEpochs(std::function<void(StatusOr<EpochId>)> f);
  // The job has ended: what still waits for that gets `why`.
  void CancelBetweenEpochs(const Status& why);
  // Sealed with the first epoch, ahead of what the workers have. Before the first Step.
  void AddToFirstEpoch(EpochRecords records) { first_records_ = std::move(records); }

  // Does what can be done now. False when there is nothing.
  StatusOr<bool> Step();
  // When the next epoch may start; Never() while one is open or there is nothing to end.
  model::ProcessingTime NextStart() const;
  // Everything has finished, is sealed, and is delivered.
  bool done() const;

  // Any thread.
  EpochId last_sealed() const { return last_sealed_.load(std::memory_order_acquire); }
  // An epoch is open, or is not yet sealed.
  bool busy() const { return state_ != State::kBetween; }

 private:
  enum class State { kBetween, kOpen, kConfirming, kSealing };

  bool MayOpen() const;
  void TellBetween(const StatusOr<EpochId>& what);
  void Open();
  StatusOr<bool> Gather();
  // Every sink has what it was given up to and with `epoch`.
  bool SinksHave(EpochId epoch) const;
  Status Seal();
  Status Sealed(EpochId epoch);

  JobContext* const job_;
  JobLog* const log_;
  Committer* const committer_;
  std::vector<Worker*> workers_;
  std::vector<Sink> sinks_;

  State state_ = State::kBetween;
  EpochId last_epoch_;                       // the newest that was opened
  model::ProcessingTime opened_at_{};
  std::vector<Contribution> parts_;
  EpochRecords first_records_;               // until the first seal
  std::atomic<bool> between_requested_{false};
  bool all_finished_ = false;                // as of the newest sealed epoch
  bool open_again_ = true;                   // the first epoch needs no activity: it records that the job began
  std::atomic<EpochId> last_sealed_{0};

  mutable Mutex mutex_;
  std::vector<Contribution> arrived_ ABSL_GUARDED_BY(mutex_);
  std::optional<StatusOr<EpochId>> committed_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void(StatusOr<EpochId>)>> between_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_EPOCH_COORDINATOR_H_
