#include "engine/progress/watermark_estimators.h"

#include <algorithm>

#include "base/status.h"

namespace hornbeam::engine {
namespace {

using model::Duration;
using model::EventTime;
using model::ProcessingTime;

int64_t FloorTo(int64_t us, int64_t unit) {
  const int64_t rest = us % unit;
  return rest < 0 ? us - rest - unit : us - rest;
}

}  // namespace

BoundedOutOfOrderness::BoundedOutOfOrderness(Duration disorder, Duration granularity)
    : disorder_(disorder), granularity_(granularity) {
  HB_CHECK(disorder >= Duration{} && granularity > Duration{});
}

bool BoundedOutOfOrderness::Move(EventTime t) {
  const EventTime bound = t - disorder_;
  if (bound == EventTime::Min()) return false;
  // Event times end some way before 64 bits do, but a granularity of centuries does not.
  if (bound.us < EventTime::Min().us + granularity_.us) return false;
  const EventTime w{FloorTo(bound.us, granularity_.us)};
  if (w <= watermark_) return false;
  SetWatermark(w);
  return true;
}

void BoundedOutOfOrderness::SetWatermark(EventTime w) {
  watermark_ = w;
  next_us_ = INT64_MAX;
  int64_t next = FloorTo(w.us, granularity_.us);
  if (!__builtin_add_overflow(next, granularity_.us, &next) &&
      !__builtin_add_overflow(next, disorder_.us, &next)) {
    next_us_ = next;
  }
}

bool BoundedOutOfOrderness::Decode(ByteReader* in) {
  const EventTime w{in->Signed()};
  if (!in->ok() || w < EventTime::Min() || w > EventTime::Max()) return false;
  if (w == EventTime::Min()) {
    watermark_ = w;
    next_us_ = INT64_MIN;
  } else {
    SetWatermark(w);
  }
  return true;
}

PubSubWatermark::PubSubWatermark(const Options& options)
    : bucket_us_(options.band.us / kBucketsPerBand), watermark_(options.start) {
  HB_CHECK(options.band >= model::Millis(1));
}

void PubSubWatermark::Observe(EventTime event_time, ProcessingTime now) {
  empty_at_.reset();
  const int64_t number = FloorTo(now.us, bucket_us_) / bucket_us_;
  if (size_ == 0 || At(size_ - 1).number < number) {
    Settle(now);
    At(size_++) = {number, event_time};
  } else {
    EventTime& least = At(size_ - 1).least;
    least = std::min(least, event_time);
  }
}

void PubSubWatermark::OnBacklog(std::optional<EventTime> oldest) {
  empty_at_.reset();
  oldest_in_backlog_ = oldest;
}

void PubSubWatermark::OnEmpty(ProcessingTime now) {
  Settle(now);
  oldest_in_backlog_.reset();
  if (size_ > 0) return;
  if (empty_at_ && now > *empty_at_ && watermark_ > EventTime::Min()) {
    MoveTo(watermark_ + (now - *empty_at_), now);
  }
  empty_at_ = now;
}

void PubSubWatermark::Resume(EventTime watermark, ProcessingTime hold_until) {
  watermark_ = std::max(watermark_, watermark);
  hold_until_ = hold_until;
}

EventTime PubSubWatermark::Watermark(ProcessingTime now) {
  Settle(now);
  return watermark_;
}

void PubSubWatermark::Settle(ProcessingTime now) {
  const int64_t current = FloorTo(now.us, bucket_us_) / bucket_us_;
  while (size_ > 0 && At(0).number + kBucketsPerBand < current) {
    EventTime least = At(0).least;
    for (size_t i = 1; i < size_; ++i) least = std::min(least, At(i).least);
    if (oldest_in_backlog_) least = std::min(least, *oldest_in_backlog_);
    first_ = (first_ + 1) % ring_.size();
    --size_;
    MoveTo(least, now);
  }
}

void PubSubWatermark::MoveTo(EventTime t, ProcessingTime now) {
  if (now < hold_until_) return;
  watermark_ = std::max(watermark_, std::min(t, EventTime{now.us}));
}

}  // namespace hornbeam::engine
