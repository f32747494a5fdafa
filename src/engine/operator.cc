#include "engine/operator.h"

#include <utility>

namespace hornbeam::engine {

Status Output::Emit(std::unique_ptr<Batch> batch) {
  if (batch->empty()) return absl::OkStatus();
  elements_.store(elements_.load(std::memory_order_relaxed) + static_cast<int64_t>(batch->size()),
                  std::memory_order_relaxed);
  for (size_t i = 0; i < consumers_.size(); ++i) {
    const bool last = i + 1 == consumers_.size();
    HB_RETURN_IF_ERROR(consumers_[i].op->Receive(consumers_[i].input, last ? std::move(batch) : batch->Clone()));
  }
  return absl::OkStatus();
}

Status Operator::Receive(int input, std::unique_ptr<Batch> batch) {
  OperatorCounters::Add(counters_.elements_in, static_cast<int64_t>(batch->size()));
  return Process(input, std::move(batch));
}

}  // namespace hornbeam::engine
