// Partition: each element goes to one of several outputs, which a function names.
#ifndef HORNBEAM_ENGINE_OPERATORS_PARTITION_H_
#define HORNBEAM_ENGINE_OPERATORS_PARTITION_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/operator.h"

namespace hornbeam::engine {

// `choose`: the number of the element's output, from 0. INVALID_ARGUMENT, which fails the job, where there is none of that number.
template <typename T>
class PartitionOperator final : public Operator {
 public:
  using Choose = std::function<int(const T&)>;
  explicit PartitionOperator(Choose choose) : choose_(std::move(choose)) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<T>(std::move(erased));
    parts_.resize(outputs());
    for (size_t i = 0; i < batch->size(); ++i) {
      const int to = choose_(batch->values[i]);
      if (to < 0 || static_cast<size_t>(to) >= outputs()) {
        return absl::InvalidArgumentError(absl::StrCat("'", context().name, "' has the partitions 0 to ", outputs() - 1,
                                                       ", and its function chose number ", to, " for an element"));
      }
      std::unique_ptr<TypedBatch<T>>& part = parts_[static_cast<size_t>(to)];
      if (part == nullptr) {
        part = std::make_unique<TypedBatch<T>>();
        part->owner = batch->owner;
      }
      part->Append(std::move(batch->values[i]), batch->timestamps[i], batch->windows[i], batch->panes[i]);
    }
    for (size_t to = 0; to < parts_.size(); ++to) {
      if (parts_[to] != nullptr) HB_RETURN_IF_ERROR(output(to).Emit(std::move(parts_[to])));
    }
    return absl::OkStatus();
  }

 private:
  Choose choose_;
  std::vector<std::unique_ptr<TypedBatch<T>>> parts_;  // empty between batches
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PARTITION_H_
