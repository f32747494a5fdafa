// What every part of one run of a job shares: its options, its clock, and the count of what is under way.
#ifndef HORNBEAM_ENGINE_JOB_JOB_CONTEXT_H_
#define HORNBEAM_ENGINE_JOB_JOB_CONTEXT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/epoch/ids.h"
#include "engine/job/job_options.h"
#include "engine/state/cold_store.h"
#include "engine/state/state_budget.h"
#include "engine/worker/parker.h"

namespace hornbeam::engine {

class JobContext {
 public:
  explicit JobContext(JobOptions options)
      : options_(std::move(options)),
        state_budget_(options_.state_memory_bytes),
        cold_stores_(static_cast<size_t>(std::max(1, options_.workers))) {}
  JobContext(const JobContext&) = delete;

  const JobOptions& options() const { return options_; }
  model::ProcessingTime Now() const { return {options_.clock->NowMicros()}; }

  void Reach(CommitPoint point) const {
    if (options_.on_commit_point) options_.on_commit_point(point);
  }

  // Messages that were sent between workers and not yet dealt with, and buffers not yet sent. Zero, with every source
  // but the asking one out of data, is quiescence: nothing will happen unless a source speaks or time passes.
  void BeginWork() { under_way_.fetch_add(1, std::memory_order_acq_rel); }
  void EndWork() {
    if (under_way_.fetch_sub(1, std::memory_order_acq_rel) == 1 && quiescence_is_awaited_) wake_workers_();
  }
  bool quiescent() const { return under_way_.load(std::memory_order_acquire) == 0; }

  // Processing time was moved by hand (TestStream): every worker looks at its timers before the job is quiescent again.
  void NoteTimeMoved() { on_time_moved_(); }
  void SetOnTimeMoved(std::function<void()> f) { on_time_moved_ = std::move(f); }

  // Some source is polled only at quiescence: whoever waits for it is woken. Before the workers start.
  void AwaitQuiescence() { quiescence_is_awaited_ = true; }
  void SetWakeWorkers(std::function<void()> f) { wake_workers_ = std::move(f); }

  // The first epoch of this run: later than any that the log or a sink knows of. Before the workers' first step.
  EpochId first_epoch() const { return first_epoch_; }
  void SetFirstEpoch(EpochId epoch) { first_epoch_ = epoch; }

  // Something happened that is worth an epoch.
  void NoteActivity() {
    if (!active_.load(std::memory_order_relaxed)) active_.store(true, std::memory_order_release);
  }
  bool TakeActivity() { return active_.exchange(false, std::memory_order_acq_rel); }
  bool active() const { return active_.load(std::memory_order_acquire); }

  // The bytes that sinks hold: rows not delivered, answers not consumed. Sources wait while they are above the limit.
  void AddUndelivered(size_t bytes) { undelivered_bytes_.fetch_add(bytes, std::memory_order_seq_cst); }
  void TakeUndelivered(size_t bytes) {
    const size_t before = undelivered_bytes_.fetch_sub(bytes, std::memory_order_seq_cst);
    const size_t limit = options_.undelivered_limit_bytes;
    if (before >= limit && before - bytes < limit && wake_workers_) wake_workers_();
  }
  size_t undelivered_bytes() const { return undelivered_bytes_.load(std::memory_order_relaxed); }
  bool sinks_have_room() const {
    return undelivered_bytes_.load(std::memory_order_seq_cst) < options_.undelivered_limit_bytes;
  }

  StateBudget& state_budget() { return state_budget_; }
  const StateBudget& state_budget() const { return state_budget_; }
  // Made when it is first asked for. Only the worker's own thread uses it.
  StatusOr<ColdStore*> ColdStoreOf(int worker);

  // Callbacks for when `epoch`, which is being ended, is sealed. From a worker; TakeFinalizers is for the coordinator.
  void AddFinalizers(EpochId epoch, std::vector<std::function<void()>> callbacks) {
    MutexLock lock(&mutex_);
    finalizers_.emplace_back(epoch, std::move(callbacks));
  }
  std::vector<std::function<void()>> TakeFinalizers(EpochId sealed);

  // The thread that starts and seals epochs; woken when there is something for it.
  Parker coordinator;

 private:
  const JobOptions options_;
  StateBudget state_budget_;
  std::vector<std::unique_ptr<ColdStore>> cold_stores_;  // by worker
  std::function<void()> on_time_moved_;
  std::function<void()> wake_workers_;
  bool quiescence_is_awaited_ = false;
  EpochId first_epoch_ = 1;
  Mutex mutex_;
  std::vector<std::pair<EpochId, std::vector<std::function<void()>>>> finalizers_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> undelivered_bytes_{0};
  alignas(64) std::atomic<int64_t> under_way_{0};
  alignas(64) std::atomic<bool> active_{false};
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_JOB_CONTEXT_H_
