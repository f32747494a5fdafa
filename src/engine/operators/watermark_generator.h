// A watermark from the timestamps of the elements that pass: for sources that do not know theirs.
#ifndef HORNBEAM_ENGINE_OPERATORS_WATERMARK_GENERATOR_H_
#define HORNBEAM_ENGINE_OPERATORS_WATERMARK_GENERATOR_H_

#include <memory>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "engine/progress/watermark_estimators.h"

namespace hornbeam::engine {

// The output watermark is the estimator's, whatever the input's is, until the input ends. REQUIRES (of the program): on its
// worker an element comes at most the estimator's disorder after a younger one; what comes later is late.
class WatermarkGeneratorOperator final : public Operator {
 public:
  explicit WatermarkGeneratorOperator(BoundedOutOfOrderness estimator) : estimator_(estimator) {}

  Status Process(int input, std::unique_ptr<Batch> batch) override {
    for (const model::EventTime t : batch->timestamps) estimator_.Observe(t);
    observed_ = true;
    return output(0).Emit(std::move(batch));
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    return input >= model::EventTime::Max() ? input : estimator_.watermark();
  }
  bool generates_watermarks() const override { return true; }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    // The estimates of workers that there are no longer live on in this one's.
    for (const uint32_t unit : adopted_units_) records->Add(context().id, unit, true, {});
    if (!observed_ && adopted_units_.empty()) return absl::OkStatus();
    adopted_units_.clear();
    observed_ = false;
    return Rewrite(static_cast<uint32_t>(context().worker), records);
  }
  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    if (static_cast<int>(unit) != context().worker) return absl::OkStatus();  // ended by OnMarker
    estimator_.Encode(records->Begin(context().id, unit, true));
    records->End();
    return absl::OkStatus();
  }
  // A worker that takes over for others goes on from the least of their estimates: what was in time for one stays so.
  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    ByteReader in(payload);
    BoundedOutOfOrderness restored = estimator_;
    if (!restored.Decode(&in)) return absl::DataLossError("the log holds a malformed watermark estimate");
    if (!restored_ || restored.watermark() < estimator_.watermark()) estimator_ = restored;
    restored_ = true;
    if (static_cast<int>(unit) != context().worker) adopted_units_.push_back(unit);
    return absl::OkStatus();
  }

 private:
  BoundedOutOfOrderness estimator_;
  bool observed_ = false;
  bool restored_ = false;
  std::vector<uint32_t> adopted_units_;  // restored here, and not this worker's own
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_WATERMARK_GENERATOR_H_
