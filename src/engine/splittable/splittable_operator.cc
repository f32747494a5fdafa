#include "engine/splittable/splittable_operator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/job/job_context.h"

namespace hornbeam::engine {
namespace {

constexpr int64_t kLongestStepUs = 10'000;

}  // namespace

SplittableOperator::~SplittableOperator() = default;

Status SplittableOperator::Open(const OperatorContext& context, int outputs) {
  HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
  metrics().SetClock(context.job->options().clock);
  return absl::OkStatus();
}

void SplittableOperator::Queue(uint32_t unit, model::EventTime watermark, std::string payload) {
  queue_.Add(unit, watermark, std::move(payload));
  to_truncate_ = drains_;
}

void SplittableOperator::CountWork() {
  if (counted_ == queue_.has_work()) return;
  counted_ = !counted_;
  counted_ ? context().job->BeginWork() : context().job->EndWork();
}

void SplittableOperator::OnDrain() {
  drains_ = true;
  to_truncate_ = true;
  queue_.MakeAllDue();  // the next step truncates them
  CountWork();
}

StatusOr<model::EventTime> SplittableOperator::AdvanceWatermark(model::EventTime input) {
  return std::min(input, queue_.HeldTime());
}

Status SplittableOperator::OnProcessingTime(model::ProcessingTime now) {
  if (std::exchange(to_truncate_, false)) HB_RETURN_IF_ERROR(TruncateAll());
  const JobOptions& options = context().job->options();
  budget_.Begin(options.clock, options.batch_size, kLongestStepUs);
  // None has its turn twice.
  for (size_t turns = queue_.size(); turns > 0 && !budget_.is_spent(); --turns) {
    const std::optional<RestrictionQueue::Number> number = queue_.PopDue(now);
    if (!number) break;
    HB_RETURN_IF_ERROR(StepOne(*number, now));
  }
  CountWork();
  return absl::OkStatus();
}

Status SplittableOperator::StepOne(RestrictionQueue::Number number, model::ProcessingTime now) {
  HB_ASSIGN_OR_RETURN(std::optional<Rest> rest, Step(queue_.payload(number)));
  if (!rest) {
    queue_.Finish(number);
    return absl::OkStatus();
  }
  // Draining, nothing is waited for: what is left is bounded.
  const bool at_once = rest->delay <= model::Duration{} || drains_;
  queue_.Requeue(number, at_once ? RestrictionQueue::kAtOnce : now + rest->delay, rest->watermark, std::move(rest->payload));
  return absl::OkStatus();
}

Status SplittableOperator::TruncateAll() {
  queue_.MakeAllDue();
  for (size_t turns = queue_.size(); turns > 0; --turns) {
    const RestrictionQueue::Number number = *queue_.PopDue(model::ProcessingTime::Never());
    HB_ASSIGN_OR_RETURN(std::optional<Rest> rest, Truncate(queue_.payload(number)));
    if (rest) {
      queue_.Requeue(number, RestrictionQueue::kAtOnce, rest->watermark, std::move(rest->payload));
    } else {
      queue_.Finish(number);
    }
  }
  return absl::OkStatus();
}

Status SplittableOperator::OnMarker(EpochId epoch, EpochRecords* records) {
  finalizer_.HandOver(context().job, epoch);
  queue_.LogChanges(context().id, records);
  return absl::OkStatus();
}

Status SplittableOperator::Rewrite(uint32_t unit, EpochRecords* records) {
  queue_.LogAll(context().id, unit, records);
  return absl::OkStatus();
}

Status SplittableOperator::Restore(uint32_t unit, bool replaces, std::string_view payload) {
  HB_RETURN_IF_ERROR(queue_.Restore(unit, replaces, payload));
  CountWork();
  return absl::OkStatus();
}

}  // namespace hornbeam::engine
