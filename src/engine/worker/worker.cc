#include "engine/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hornbeam::engine {
namespace {

// How long a worker with nothing to do sleeps at most: a bound on the harm of a wake-up that someone forgot.
constexpr std::chrono::microseconds kLongestPark{500'000};

}  // namespace

Stage* Worker::AddStage() {
  stages_.push_back(std::make_unique<Stage>(job_));
  return stages_.back().get();
}

void Worker::RequestMarker(EpochId epoch, std::vector<UnitKey> rewrite) {
  {
    MutexLock lock(&mutex_);
    rewrite_request_ = std::move(rewrite);
  }
  requested_.store(epoch, std::memory_order_release);
  parker_.Unpark();
}

void Worker::RequestDrain() {
  drain_requested_.store(true, std::memory_order_release);
  parker_.Unpark();
}

void Worker::NoteTimeMoved() {
  job_->BeginWork();
  time_moved_.fetch_add(1, std::memory_order_acq_rel);
  parker_.Unpark();
}

Status Worker::Start() {
  for (std::unique_ptr<Stage>& stage : stages_) HB_RETURN_IF_ERROR(stage->Start());
  return absl::OkStatus();
}

model::ProcessingTime Worker::NextProcessingTime() const {
  model::ProcessingTime next = model::ProcessingTime::Never();
  for (const std::unique_ptr<Stage>& stage : stages_) next = std::min(next, stage->NextProcessingTime());
  return next;
}

StatusOr<bool> Worker::RunTimers() {
  const int moved = time_moved_.load(std::memory_order_acquire);
  bool ran = false;
  if (const model::ProcessingTime next = NextProcessingTime(); next < model::ProcessingTime::Never()) {
    if (const model::ProcessingTime now = job_->Now(); now >= next) {
      ran = true;
      for (std::unique_ptr<Stage>& stage : stages_) HB_RETURN_IF_ERROR(stage->OnProcessingTime(now));
    }
  }
  if (moved > 0 && !ran) {
    time_moved_.fetch_sub(moved, std::memory_order_acq_rel);
    for (int i = 0; i < moved; ++i) job_->EndWork();
    return true;
  }
  return ran;
}

StatusOr<bool> Worker::InjectMarker() {
  const EpochId requested = requested_.load(std::memory_order_acquire);
  if (requested <= epoch_) return false;
  epoch_ = requested;
  stages_to_pass_ = stages_.size();
  {
    MutexLock lock(&mutex_);
    rewrite_ = std::move(rewrite_request_);
  }
  for (std::unique_ptr<Stage>& stage : stages_) {
    if (stage->has_source()) HB_RETURN_IF_ERROR(PassMarker(*stage));
  }
  return true;
}

Status Worker::PassMarker(Stage& stage) {
  HB_RETURN_IF_ERROR(stage.PassMarker(epoch_, &records_));
  for (const UnitKey& unit : rewrite_) HB_RETURN_IF_ERROR(stage.Rewrite(unit, &records_));
  if (--stages_to_pass_ > 0) return absl::OkStatus();
  const bool finished = std::all_of(stages_.begin(), stages_.end(),
                                    [](const std::unique_ptr<Stage>& s) { return s->finished(); });
  contribute_({index_, epoch_, std::move(records_), finished});
  records_ = EpochRecords();
  return absl::OkStatus();
}

StatusOr<bool> Worker::RunOnce() {
  HB_ASSIGN_OR_RETURN(bool worked, RunTimers());
  if (drain_requested_.exchange(false, std::memory_order_acq_rel)) {
    for (std::unique_ptr<Stage>& stage : stages_) stage->Drain();
  }
  HB_ASSIGN_OR_RETURN(const bool injected, InjectMarker());
  worked |= injected;
  for (auto at = stages_.rbegin(); at != stages_.rend(); ++at) {
    Stage& stage = **at;
    worked |= stage.DrainOutboxes();
    if (stage.AtMarker()) {
      HB_RETURN_IF_ERROR(PassMarker(stage));
      return true;
    }
    if (!stage.HasRoom()) continue;
    HB_ASSIGN_OR_RETURN(const bool ran, stage.RunOnce());
    if (ran) return true;
  }
  if (worked) return true;
  for (std::unique_ptr<Stage>& stage : stages_) worked |= stage->Flush();
  return worked;
}

Status Worker::Run(std::stop_token stop) {
  HB_RETURN_IF_ERROR(Start());
  while (!stop.stop_requested()) {
    HB_ASSIGN_OR_RETURN(const bool worked, RunOnce());
    if (worked) continue;
    std::chrono::microseconds sleep = kLongestPark;
    if (const model::ProcessingTime next = NextProcessingTime(); next < model::ProcessingTime::Never()) {
      sleep = std::clamp<std::chrono::microseconds>(std::chrono::microseconds((next - job_->Now()).us),
                                                    std::chrono::microseconds(0), kLongestPark);
    }
    parker_.Park(sleep);
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::engine
