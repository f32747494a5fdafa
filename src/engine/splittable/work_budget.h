// How much one step of a splittable DoFn may do before it makes room for others: so many claims, or so much time. Single-threaded.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_WORK_BUDGET_H_
#define HORNBEAM_ENGINE_SPLITTABLE_WORK_BUDGET_H_

#include <cstdint>

#include "base/clock.h"

namespace hornbeam::engine {

class WorkBudget {
 public:
  // A step begins. `clock` outlives it.
  void Begin(const Clock* clock, size_t claims, int64_t micros) {
    clock_ = clock;
    claims_left_ = claims;
    ends_at_us_ = clock->MonotonicMicros() + micros;
  }
  void Spend(size_t claims) { claims_left_ -= claims < claims_left_ ? claims : claims_left_; }
  bool is_spent() const { return claims_left_ == 0 || clock_->MonotonicMicros() >= ends_at_us_; }

 private:
  const Clock* clock_ = nullptr;
  size_t claims_left_ = 0;
  int64_t ends_at_us_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_WORK_BUDGET_H_
