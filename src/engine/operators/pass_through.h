// Hands on what it is given: the receiving half of an exchange, or a place where only the plan changes.
#ifndef HORNBEAM_ENGINE_OPERATORS_PASS_THROUGH_H_
#define HORNBEAM_ENGINE_OPERATORS_PASS_THROUGH_H_

#include <memory>
#include <utility>

#include "engine/operator.h"

namespace hornbeam::engine {

class PassThroughOperator final : public Operator {
 public:
  Status Process(int input, std::unique_ptr<Batch> batch) override { return output(0).Emit(std::move(batch)); }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PASS_THROUGH_H_
