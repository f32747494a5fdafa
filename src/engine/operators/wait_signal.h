// The side input of Wait.on: says nothing but that a window of the signal is closed.
#ifndef HORNBEAM_ENGINE_OPERATORS_WAIT_SIGNAL_H_
#define HORNBEAM_ENGINE_OPERATORS_WAIT_SIGNAL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/operator.h"
#include "model/time.h"

namespace hornbeam::engine {

// A view in which there never is anything, so that a window is ready when it is over.
struct SignalView {
  using Element = int64_t;
  static SignalView Make(std::vector<Element>) { return {}; }
  std::vector<Element> Elements() const { return {}; }
  const SignalView& Get() const { return *this; }
};

// Lets no element through, and holds the watermark back by the signal's allowed lateness: so it passes the end of a window when the
// window is closed, as nothing can come into it any more.
class WaitSignalOperator final : public Operator {
 public:
  explicit WaitSignalOperator(model::Duration allowed_lateness) : allowed_lateness_(allowed_lateness) {}

  Status Process(int input, std::unique_ptr<Batch> batch) override { return absl::OkStatus(); }
  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    return input >= model::EventTime::Max() ? input : input - allowed_lateness_;
  }

 private:
  const model::Duration allowed_lateness_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_WAIT_SIGNAL_H_
