#include "engine/job/epoch_coordinator.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace hornbeam::engine {
namespace {

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
  state_ = State::kSealing;
  HB_RETURN_IF_ERROR(Seal());
  return true;
}

Status EpochCoordinator::Seal() {
  all_finished_ = std::all_of(parts_.begin(), parts_.end(), [](const Contribution& part) { return part.finished; });
  if (committer_ == nullptr) return Sealed(last_epoch_);
  EpochParts parts{last_epoch_, {}};
  for (Contribution& part : parts_) parts.parts.push_back(std::move(part.records));
  parts_.clear();
  committer_->Submit(std::move(parts));
  return absl::OkStatus();
}

Status EpochCoordinator::Sealed(EpochId epoch) {
  state_ = State::kBetween;
  last_sealed_.store(epoch, std::memory_order_release);
  for (const Sink& sink : sinks_) {
    sink.delivery->OnSealed(epoch);
    if (log_ != nullptr) log_->RetainFrom(sink.op, sink.delivery->delivered_epoch() + 1);
  }
  unacknowledged_.push_back(epoch);
  AcknowledgeConfirmed();
  return absl::OkStatus();
}

// Exactly-once: what is sealed is safe, and the sources may forget it. At-least-once: the sinks' rows are not in the log, so
// it is safe when the sinks have confirmed it.
bool EpochCoordinator::AcknowledgeConfirmed() {
  const bool at_least_once = job_->options().mode == ProcessingMode::kAtLeastOnce;
  bool any = false;
  while (!unacknowledged_.empty()) {
    const EpochId epoch = unacknowledged_.front();
    if (at_least_once && !std::all_of(sinks_.begin(), sinks_.end(), [epoch](const Sink& sink) {
          return sink.delivery->ConfirmedThrough(epoch);
        })) {
      break;
    }
    unacknowledged_.pop_front();
    any = true;
    for (Worker* worker : workers_) {
      for (const std::unique_ptr<Stage>& stage : worker->stages()) {
        if (stage->has_source()) stage->source()->OnSealed(epoch);
      }
    }
  }
  return any;
}

StatusOr<bool> EpochCoordinator::Step() {
  bool worked = AcknowledgeConfirmed();
  switch (state_) {
    case State::kBetween:
      if (done() || !MayOpen()) return worked;
      Open();
      return true;
    case State::kOpen: {
      HB_ASSIGN_OR_RETURN(const bool gathered, Gather());
      return worked || gathered;
    }
    case State::kSealing: {
      std::optional<StatusOr<EpochId>> committed;
      {
        MutexLock lock(&mutex_);
        committed.swap(committed_);
      }
      if (!committed) return worked;
      HB_RETURN_IF_ERROR(Annotate(committed->status(), "the job's log"));
      HB_RETURN_IF_ERROR(Sealed(**committed));
      return true;
    }
  }
  return worked;
}

bool EpochCoordinator::done() const {
  return all_finished_ && state_ == State::kBetween && unacknowledged_.empty() &&
         std::all_of(sinks_.begin(), sinks_.end(), [](const Sink& sink) { return sink.delivery->done(); });
}

}  // namespace hornbeam::engine
