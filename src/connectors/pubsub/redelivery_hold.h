// Says when all that a previous process had leased has come again.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_REDELIVERY_HOLD_H_
#define HORNBEAM_CONNECTORS_PUBSUB_REDELIVERY_HOLD_H_

#include <cstdint>
#include <optional>

#include "model/time.h"

namespace hornbeam::connectors {

// It holds from a restart until redelivery has been possible for long enough, and until every
// message that was received by then has been taken. Time counts only between two looks at both of
// which messages could come: an outage, a full window, and a pipeline that takes nothing for long
// make it hold for longer.
//
// Single-threaded and pure: the time is given.
class RedeliveryHold {
 public:
  // A longer time between two looks counts as this much.
  static constexpr model::Duration kLongestStep = model::Seconds(2);

  // Holds until redelivery was possible for `needed`.
  void Begin(model::Duration needed, model::ProcessingTime now);
  bool held() const { return held_; }

  // To be called again and again while it holds. `possible`: a stream is open and has room for
  // more. Of all messages `received` were received, and `taken` taken. True: it ends here.
  bool Look(model::ProcessingTime now, bool possible, uint64_t received, uint64_t taken);

 private:
  bool held_ = false;
  model::Duration needed_;
  model::Duration passed_;
  model::ProcessingTime looked_at_;
  bool was_possible_ = false;
  std::optional<uint64_t> to_take_;  // what was received when the time was over
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_REDELIVERY_HOLD_H_
