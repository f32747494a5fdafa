#include "connectors/pubsub/subscription_watermark.h"

#include <algorithm>

namespace hornbeam::connectors {

SubscriptionWatermark::SubscriptionWatermark(const io::PubsubWatermarkPolicy& policy) {
  if (policy.bounded) bounded_.emplace(policy.bounded->disorder, policy.bounded->granularity);
}

void SubscriptionWatermark::OnWaiting(model::EventTime oldest) {
  if (bounded_) return;
  if (oldest == model::EventTime::Max()) {
    estimated_.OnBacklog(std::nullopt);
  } else {
    estimated_.OnBacklog(oldest);
  }
}

void SubscriptionWatermark::OnEmpty(model::ProcessingTime now) {
  if (!bounded_) estimated_.OnEmpty(now);
}

void SubscriptionWatermark::OnInterrupted() {
  if (!bounded_) estimated_.OnInterrupted();
}

model::EventTime SubscriptionWatermark::Get(model::ProcessingTime now) {
  if (held_) return given_;
  given_ = std::max(given_, bounded_ ? bounded_->watermark() : estimated_.Watermark(now));
  return given_;
}

void SubscriptionWatermark::Encode(std::string* out) const {
  PutSigned(out, given_.us);
  out->push_back(bounded_ ? 1 : 0);
  if (bounded_) bounded_->Encode(out);
}

bool SubscriptionWatermark::Restore(ByteReader* in) {
  given_.us = in->Signed();
  const bool was_bounded = in->Byte() == 1;
  if (was_bounded) {
    // The policy may be another one now; what was promised holds all the same.
    engine::BoundedOutOfOrderness was(model::Duration{0}, model::Duration{1});
    engine::BoundedOutOfOrderness* const into = bounded_ ? &*bounded_ : &was;
    if (!into->Decode(in)) return false;
  }
  restored_ = true;
  return in->ok();
}

void SubscriptionWatermark::Hold() {
  held_ = true;
  if (!bounded_) estimated_.Resume(given_, model::ProcessingTime::Never());
}

void SubscriptionWatermark::Release(model::ProcessingTime now) {
  held_ = false;
  if (!bounded_) estimated_.Resume(given_, now);
}

}  // namespace hornbeam::connectors
