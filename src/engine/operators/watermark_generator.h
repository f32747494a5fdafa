// A watermark from the timestamps of the elements that pass: for sources that do not know theirs.
#ifndef HORNBEAM_ENGINE_OPERATORS_WATERMARK_GENERATOR_H_
#define HORNBEAM_ENGINE_OPERATORS_WATERMARK_GENERATOR_H_

#include <memory>
#include <utility>

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
    if (!observed_) return absl::OkStatus();
    observed_ = false;
    return Rewrite(static_cast<uint32_t>(context().worker), records);
  }
  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    estimator_.Encode(records->Begin(context().id, unit, true));
    records->End();
    return absl::OkStatus();
  }
  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    ByteReader in(payload);
    if (!estimator_.Decode(&in)) return absl::DataLossError("the log holds a malformed watermark estimate");
    return absl::OkStatus();
  }

 private:
  BoundedOutOfOrderness estimator_;
  bool observed_ = false;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_WATERMARK_GENERATOR_H_
