#include "connectors/pubsub/redelivery_hold.h"

#include <algorithm>

namespace hornbeam::connectors {

void RedeliveryHold::Begin(model::Duration needed, model::ProcessingTime now) {
  *this = RedeliveryHold();
  held_ = true;
  needed_ = needed;
  looked_at_ = now;
}

bool RedeliveryHold::Look(model::ProcessingTime now, bool possible, uint64_t received,
                          uint64_t taken) {
  if (!held_) return false;
  if (possible && was_possible_) {
    passed_.us += std::clamp<int64_t>((now - looked_at_).us, 0, kLongestStep.us);
  }
  looked_at_ = now;
  was_possible_ = possible;
  if (passed_ < needed_) return false;
  if (!to_take_) to_take_ = received;
  if (taken < *to_take_) return false;
  held_ = false;
  return true;
}

}  // namespace hornbeam::connectors
