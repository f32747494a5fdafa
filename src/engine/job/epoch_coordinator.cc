#include "engine/job/epoch_coordinator.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace hornbeam::engine {
namespace {

// Best effort: what one throws is told, and changes nothing.
void RunFinalizers(const std::vector<std::function<void()>>& callbacks) {
  for (const std::function<void()>& callback : callbacks) {
    try {
      callback();
    } catch (const std::exception& error) {
      LogWarning(absl::StrCat("a bundle's finalizer failed, and is not called again: ", error.what()));
    } catch (...) {
      LogWarning("a bundle's finalizer failed, and is not called again: an exception that is not a std::exception");
    }
  }
}

// How much live state is written again with one epoch, so that old segments of the log can go.
constexpr size_t kRewriteBytesPerEpoch = 4 << 20;

}  // namespace

void EpochCoordinator::Contribute(Contribution contribution) {
  {
    MutexLock lock(&mutex_);
    arrived_.push_back(std::move(contribution));
  }
  job_->coordinator.Unpark();
}

void EpochCoordinator::OnCommitted(StatusOr<EpochId> sealed) {
  {
    MutexLock lock(&mutex_);
    committed_ = std::move(sealed);
  }
  job_->coordinator.Unpark();
}

void EpochCoordinator::RunBetweenEpochs(std::function<void(StatusOr<EpochId>)> f) {
  {
    MutexLock lock(&mutex_);
    between_.push_back(std::move(f));
  }
  between_requested_.store(true, std::memory_order_release);
  job_->coordinator.Unpark();
}

void EpochCoordinator::TellBetween(const StatusOr<EpochId>& what) {
  between_requested_.store(false, std::memory_order_release);
  std::vector<std::function<void(StatusOr<EpochId>)>> waiting;
  {
    MutexLock lock(&mutex_);
    waiting.swap(between_);
  }
  for (const std::function<void(StatusOr<EpochId>)>& f : waiting) f(what);
}

void EpochCoordinator::CancelBetweenEpochs(const Status& why) { TellBetween(why); }

bool EpochCoordinator::MayOpen() const {
  if (!open_again_ && !job_->active()) return false;
  if (job_->options().deterministic_seed != 0) return true;
  return job_->Now() >= opened_at_ + job_->options().epoch_interval;
}

model::ProcessingTime EpochCoordinator::NextStart() const {
  if (state_ != State::kBetween || (!open_again_ && !job_->active())) return model::ProcessingTime::Never();
  return opened_at_ + job_->options().epoch_interval;
}

void EpochCoordinator::Open() {
  job_->TakeActivity();
  open_again_ = false;
  opened_at_ = job_->Now();
  ++last_epoch_;
  state_ = State::kOpen;
  std::vector<UnitKey> rewrite;
  if (log_ != nullptr) rewrite = log_->UnitsToRewrite(kRewriteBytesPerEpoch);
  for (Worker* worker : workers_) worker->RequestMarker(last_epoch_, rewrite);
  job_->Reach(CommitPoint::kEpochOpened);
}

StatusOr<bool> EpochCoordinator::Gather() {
  {
    MutexLock lock(&mutex_);
    if (arrived_.size() < workers_.size()) return false;
    parts_ = std::move(arrived_);
    arrived_.clear();
  }
  // In the order of workers, so that a replay sees a sink's rows in the order in which they are delivered.
  std::sort(parts_.begin(), parts_.end(),
            [](const Contribution& a, const Contribution& b) { return a.worker < b.worker; });
  state_ = State::kConfirming;
  job_->Reach(CommitPoint::kEpochGathered);
  return true;
}

bool EpochCoordinator::SinksHave(EpochId epoch) const {
  return std::all_of(sinks_.begin(), sinks_.end(),
                     [epoch](const Sink& sink) { return sink.delivery->ConfirmedThrough(epoch); });
}

Status EpochCoordinator::Seal() {
  state_ = State::kSealing;
  all_finished_ = std::all_of(parts_.begin(), parts_.end(), [](const Contribution& part) { return part.finished; });
  if (committer_ == nullptr) return Sealed(last_epoch_);
  EpochParts parts{last_epoch_, {}};
  if (!first_records_.empty()) parts.parts.push_back(std::exchange(first_records_, EpochRecords()));
  for (Contribution& part : parts_) parts.parts.push_back(std::move(part.records));
  parts_.clear();
  committer_->Submit(std::move(parts));
  return absl::OkStatus();
}

Status EpochCoordinator::Sealed(EpochId epoch) {
  state_ = State::kBetween;
  last_sealed_.store(epoch, std::memory_order_release);
  job_->Reach(CommitPoint::kEpochSealed);
  for (const Sink& sink : sinks_) {
    sink.delivery->OnSealed(epoch);
    if (log_ != nullptr) log_->RetainFrom(sink.op, sink.delivery->delivered_epoch() + 1);
  }
  job_->Reach(CommitPoint::kSinksTold);
  RunFinalizers(job_->TakeFinalizers(epoch));
  for (Worker* worker : workers_) {
    for (const std::unique_ptr<Stage>& stage : worker->stages()) {
      if (stage->has_source()) stage->source()->OnSealed(epoch);
    }
  }
  job_->Reach(CommitPoint::kSourcesTold);
  return absl::OkStatus();
}

StatusOr<bool> EpochCoordinator::Step() {
  switch (state_) {
    case State::kBetween:
      if (between_requested_.load(std::memory_order_acquire)) {
        if (!SinksHave(last_sealed())) return false;  // every delivery wakes this thread
        TellBetween(last_sealed());
        return true;
      }
      if (done() || !MayOpen()) return false;
      Open();
      return true;
    case State::kOpen: return Gather();
    case State::kConfirming:
      // Every delivery wakes this thread.
      if (job_->options().mode == ProcessingMode::kAtLeastOnce && !SinksHave(last_epoch_)) return false;
      HB_RETURN_IF_ERROR(Seal());
      return true;
    case State::kSealing: {
      std::optional<StatusOr<EpochId>> committed;
      {
        MutexLock lock(&mutex_);
        committed.swap(committed_);
      }
      if (!committed) return false;
      HB_RETURN_IF_ERROR(Annotate(committed->status(), "the job's log"));
      HB_RETURN_IF_ERROR(Sealed(**committed));
      return true;
    }
  }
  return false;
}

bool EpochCoordinator::done() const {
  return all_finished_ && state_ == State::kBetween &&
         std::all_of(sinks_.begin(), sinks_.end(), [](const Sink& sink) { return sink.delivery->done(); });
}

}  // namespace hornbeam::engine
