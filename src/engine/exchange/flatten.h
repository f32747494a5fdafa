// Merges PCollections: what the stage behind a Flatten begins with.
#ifndef HORNBEAM_ENGINE_EXCHANGE_FLATTEN_H_
#define HORNBEAM_ENGINE_EXCHANGE_FLATTEN_H_

#include <memory>
#include <utility>

#include "engine/operator.h"

namespace hornbeam::engine {

class FlattenOperator final : public Operator {
 public:
  Status Process(int input, std::unique_ptr<Batch> batch) override { return output(0).Emit(std::move(batch)); }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EXCHANGE_FLATTEN_H_
