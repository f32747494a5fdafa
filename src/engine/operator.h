// One transform's work on one worker.
//
// Every worker has its own instance of every operator and calls it from its own thread, so an operator has no locks and
// no shared state. The stage (worker/stage.h) calls, in this order and never at once:
//
//   Open, then Restore for each record that the job's log holds of it, RestoreWatermark if there was one, then any sequence of
//   Process / AdvanceWatermark / OnProcessingTime / OnMarker, in the order in which the input says.
//
// What an operator puts out goes to output(i).Emit, at any of these calls but Open and Restore.
#ifndef HORNBEAM_ENGINE_OPERATOR_H_
#define HORNBEAM_ENGINE_OPERATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/epoch/epoch_records.h"
#include "engine/job/job_context.h"
#include "engine/metrics/metric_cells.h"
#include "engine/operators/parked_report.h"
#include "model/time.h"

namespace hornbeam::engine {

class Operator;

// Counts of one operator on one worker: written by the worker, read by anyone.
struct OperatorCounters {
  std::atomic<int64_t> elements_in{0};
  std::atomic<int64_t> dropped_late{0};
  std::atomic<int64_t> failed{0};

  static void Add(std::atomic<int64_t>& counter, int64_t n) {  // single writer: no locked instruction
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

// Where one output PCollection of an operator goes inside its stage.
class Output {
 public:
  void AddConsumer(Operator* consumer, int input) { consumers_.push_back({consumer, input}); }
  bool has_consumers() const { return !consumers_.empty(); }
  // Passes on what a consumer returned: an error fails the job.
  Status Emit(std::unique_ptr<Batch> batch);
  int64_t elements() const { return elements_.load(std::memory_order_relaxed); }

 private:
  struct Consumer {
    Operator* op;
    int input;
  };
  std::vector<Consumer> consumers_;
  std::atomic<int64_t> elements_{0};
};

// What an operator is told about itself; outlives it.
struct OperatorContext {
  JobContext* job = nullptr;
  OperatorId id{};
  std::string name;  // the transform's
  int worker = 0;
  int workers = 1;

  // Whether a unit of this operator's state (a key slice, a source's split) is this worker's.
  bool Owns(uint32_t unit) const { return static_cast<int>(unit % static_cast<uint32_t>(workers)) == worker; }
};

class Operator {
 public:
  virtual ~Operator() = default;

  // Called once, before anything else. Overrides call it first.
  virtual Status Open(const OperatorContext& context, int outputs) {
    context_ = context;
    outputs_ = std::vector<Output>(static_cast<size_t>(outputs));
    return absl::OkStatus();
  }

  // Elements of input number `input`. An error fails the job: what one element causes is dealt with inside.
  virtual Status Process(int input, std::unique_ptr<Batch> batch) = 0;

  // Counts, then Process: how everything but a test hands an operator its elements.
  Status Receive(int input, std::unique_ptr<Batch> batch);

  // The input watermark is now `input`. Returns the output watermark: at most that, held back by what is buffered here.
  virtual StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) { return input; }

  // Before any AdvanceWatermark, after Restore: the input watermark at which the records were added. All that it makes due was
  // done then.
  virtual void RestoreWatermark(model::EventTime input) {}

  // How many of its inputs, the last ones, are side inputs: they have a watermark of their own, and do not hold the input watermark.
  virtual int side_inputs() const { return 0; }
  // That of side input number `input` is now `watermark`.
  virtual Status AdvanceSideWatermark(int input, model::EventTime watermark) { return absl::OkStatus(); }

  // It puts out elements that nobody has given it, at processing times (a splittable DoFn): it is not called for those while the
  // stage behind it, or a sink, has no room.
  virtual bool acts_as_source() const { return false; }
  // The job drains: what would go on for ever ends, and what is under way is finished.
  virtual void OnDrain() {}

  // Its output watermark may move with any element, not only with the input watermark.
  virtual bool generates_watermarks() const { return false; }

  // Processing time is at least NextProcessingTime().
  virtual Status OnProcessingTime(model::ProcessingTime now) { return absl::OkStatus(); }
  virtual model::ProcessingTime NextProcessingTime() const { return model::ProcessingTime::Never(); }

  // An epoch ends here: flush what must not cross it, then add what has changed since the last one.
  virtual Status OnMarker(EpochId epoch, EpochRecords* records) { return absl::OkStatus(); }

  // A record that an earlier run added. Only units that this worker owns are restored here.
  virtual Status Restore(uint32_t unit, bool replaces, std::string_view payload) {
    return absl::InternalError("an operator without state was given some to restore");
  }
  // This unit is restored on every worker, and every worker is asked to rewrite it, not its owner alone.
  virtual bool restores_everywhere(uint32_t unit) const { return false; }
  // Adds the whole state of `unit` as one record that replaces all earlier ones, so that the log can drop those.
  // Called between OnMarker and whatever comes next.
  virtual Status Rewrite(uint32_t unit, EpochRecords* records) { return absl::OkStatus(); }

  Output& output(size_t i) { return outputs_[i]; }
  const Output& output(size_t i) const { return outputs_[i]; }
  size_t outputs() const { return outputs_.size(); }
  const OperatorContext& context() const { return context_; }
  OperatorCounters& counters() { return counters_; }
  const OperatorCounters& counters() const { return counters_; }
  MetricCells& metrics() { return metrics_; }
  const MetricCells& metrics() const { return metrics_; }
  ParkedReport& parked_report() { return parked_report_; }
  const ParkedReport& parked_report() const { return parked_report_; }

 protected:
  Operator() = default;

 private:
  OperatorContext context_;
  std::vector<Output> outputs_;
  OperatorCounters counters_;
  MetricCells metrics_;
  ParkedReport parked_report_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATOR_H_
