// A splittable DoFn's work on one worker, but for the types of its elements: whose turn it is, what is durable, what holds the watermark.
//
// Behind a keyed exchange by restriction, so that the parts into which an element's restriction was split at first lie on all workers.
// What arrives is queued, and processed at processing times: one step does as many claims as a batch has elements, for 10 ms at most;
// then the rest is cut off and queued again, behind the others. So a marker waits for one step, and the restrictions of a worker
// come forward together. What a step has put out and what it has left are of one epoch.
//
// A restriction stays on its worker, which holds its watermark (docs/adr/0007).
//
// Draining, bounded restrictions are finished; of unbounded ones what TruncateRestriction leaves is, or nothing.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_SPLITTABLE_OPERATOR_H_
#define HORNBEAM_ENGINE_SPLITTABLE_SPLITTABLE_OPERATOR_H_

#include <optional>
#include <string>
#include <string_view>

#include "engine/operator.h"
#include "engine/operators/bundle_finalizer.h"
#include "engine/splittable/restriction_queue.h"
#include "engine/splittable/work_budget.h"

namespace hornbeam::engine {

class SplittableOperator : public Operator {
 public:
  ~SplittableOperator() override;

  Status Open(const OperatorContext& context, int outputs) override;
  bool acts_as_source() const final { return true; }
  void OnDrain() final;
  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) final;
  model::ProcessingTime NextProcessingTime() const final { return queue_.NextDue(); }
  Status OnProcessingTime(model::ProcessingTime now) final;
  Status OnMarker(EpochId epoch, EpochRecords* records) final;
  Status Rewrite(uint32_t unit, EpochRecords* records) final;
  Status Restore(uint32_t unit, bool replaces, std::string_view payload) final;

 protected:
  // What is left of a restriction after a step.
  struct Rest {
    std::string payload;
    model::EventTime watermark;
    model::Duration delay{};
  };

  // Takes a step with a restriction: puts out what comes of it. Nothing is left of one that is done, or failed and dealt with.
  virtual StatusOr<std::optional<Rest>> Step(const std::string& payload) = 0;
  // What is to be processed of a restriction while the job drains; nothing of one that would go on for ever.
  virtual StatusOr<std::optional<Rest>> Truncate(const std::string& payload) = 0;

  void Queue(uint32_t unit, model::EventTime watermark, std::string payload);
  // After Queue, for as long as it takes.
  void CountWork();
  WorkBudget& budget() { return budget_; }
  BundleFinalizer& finalizer() { return finalizer_; }

 private:
  Status StepOne(RestrictionQueue::Number number, model::ProcessingTime now);
  Status TruncateAll();

  RestrictionQueue queue_;
  WorkBudget budget_;
  BundleFinalizer finalizer_;
  bool drains_ = false;
  bool to_truncate_ = false;  // what has come since the last time, or all
  bool counted_ = false;      // as work under way
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_SPLITTABLE_OPERATOR_H_
