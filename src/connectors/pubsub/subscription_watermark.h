// The watermark of one subscription, by the policy that the pipeline chose, and across restarts.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_SUBSCRIPTION_WATERMARK_H_
#define HORNBEAM_CONNECTORS_PUBSUB_SUBSCRIPTION_WATERMARK_H_

#include <optional>
#include <string>

#include "base/bytes.h"
#include "engine/progress/watermark_estimators.h"
#include "hornbeam/io/pubsub_read_options.h"
#include "model/time.h"

namespace hornbeam::connectors {

// Single-threaded and pure: observations and the time in, a watermark that never goes back out.
class SubscriptionWatermark {
 public:
  explicit SubscriptionWatermark(const io::PubsubWatermarkPolicy& policy);

  // A message was taken. True: the watermark may have moved right behind it, so that its batch must
  // end with it for the panes not to depend on how the source reads.
  bool Observe(model::EventTime event_time, model::ProcessingTime now) {
    if (bounded_) return bounded_->Observe(event_time);
    estimated_.Observe(event_time, now);
    return false;
  }
  // What was received and not yet taken; the least event time among it.
  void OnWaiting(model::EventTime oldest);
  // Connected, there is room, and nothing waits or comes.
  void OnEmpty(model::ProcessingTime now);
  void OnInterrupted();

  model::EventTime Get(model::ProcessingTime now);
  // What Get gave last.
  model::EventTime last() const { return given_; }

  // last(), and what the policy needs to go on from there.
  void Encode(std::string* out) const;
  [[nodiscard]] bool Restore(ByteReader* in);
  // After Restore: the watermark stands still until Release, which is called when all that the
  // previous process had leased has come again.
  void Hold();
  void Release(model::ProcessingTime now);
  bool restored() const { return restored_; }

 private:
  std::optional<engine::BoundedOutOfOrderness> bounded_;
  engine::PubSubWatermark estimated_;  // unless bounded_
  model::EventTime given_ = model::EventTime::Min();
  bool restored_ = false;
  bool held_ = false;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_SUBSCRIPTION_WATERMARK_H_
