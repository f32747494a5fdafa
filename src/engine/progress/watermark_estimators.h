// How far event time has come at a source: nothing older than the watermark is expected any more.
// Both estimators are pure and single-threaded: observations in, a watermark that never goes back
// out.
#ifndef HORNBEAM_ENGINE_PROGRESS_WATERMARK_ESTIMATORS_H_
#define HORNBEAM_ENGINE_PROGRESS_WATERMARK_ESTIMATORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "model/time.h"

namespace hornbeam::engine {

// The greatest event time seen, less the disorder that is expected, rounded down to a granularity.
//
// It depends on nothing but the elements and their order. Observe says at which element the
// watermark has just moved: a source that ends its batch right there gets the same panes however it
// reads.
class BoundedOutOfOrderness {
 public:
  // REQUIRES: disorder >= 0, granularity > 0.
  BoundedOutOfOrderness(model::Duration disorder, model::Duration granularity);

  // True where the watermark moved, to count from behind this element.
  bool Observe(model::EventTime t) { return t.us >= next_us_ && Move(t); }
  model::EventTime watermark() const { return watermark_; }

  // The watermark is all its state.
  void Encode(std::string* out) const { PutSigned(out, watermark_.us); }
  [[nodiscard]] bool Decode(ByteReader* in);

 private:
  bool Move(model::EventTime t);
  void SetWatermark(model::EventTime w);

  model::Duration disorder_;
  model::Duration granularity_;
  model::EventTime watermark_ = model::EventTime::Min();
  int64_t next_us_ = INT64_MIN;  // no event time below this moves the watermark
};

// The watermark of one Pub/Sub subscription whose messages carry their event times.
//
// Pub/Sub keeps no order, so the newest message says nothing; what was seen lately does. As
// messages become a band (10 s) old, the watermark moves up to the least event time among them and
// all younger ones, and no further than what the oldest unacknowledged message is known to carry. A
// message is thus never late unless it comes a whole band of the engine's own time behind messages
// that are newer than it.
//
// Where no message has come for a band and the subscription is empty, the watermark moves on with
// the clock, second by second from where it stood: it never jumps to the present, for what comes
// next may be a replay of old data. Where no message has come and that is not known (no connection,
// no room, a backlog), it stands still. It is at most now.
class PubSubWatermark {
 public:
  struct Options {
    model::Duration band = model::Seconds(10);
    // Where it starts before the first message. At Min(), an empty new subscription holds back
    // whatever it is joined with.
    model::EventTime start = model::EventTime::Min();
  };

  PubSubWatermark() : PubSubWatermark(Options{}) {}
  // REQUIRES: options.band of at least a millisecond.
  explicit PubSubWatermark(const Options& options);

  // Time `now` is the engine's clock and does not go back from call to call.

  // A message was received.
  void Observe(model::EventTime event_time, model::ProcessingTime now);
  // The subscription has messages that are not acknowledged; the oldest carries `oldest`, where
  // that is known.
  void OnBacklog(std::optional<model::EventTime> oldest);
  // The source is connected, has room for more, and nothing comes. To be repeated: the clock counts
  // from one such call to the next, as long as nothing else happened in between.
  void OnEmpty(model::ProcessingTime now);
  // The connection is lost, or there is no room: silence means nothing now.
  void OnInterrupted() { empty_at_.reset(); }
  // After a restart: continues from the sealed `watermark` and stands still until `hold_until`, by
  // when all leases of the previous process have lapsed and its messages have come again.
  void Resume(model::EventTime watermark, model::ProcessingTime hold_until);

  model::EventTime Watermark(model::ProcessingTime now);

 private:
  static constexpr int64_t kBucketsPerBand = 10;

  // What was received in one tenth of a band.
  struct Bucket {
    int64_t number = 0;  // processing time divided by bucket_us_
    model::EventTime least;
  };

  Bucket& At(size_t i) { return ring_[(first_ + i) % ring_.size()]; }
  // Takes out the buckets that are a band old, and moves the watermark accordingly.
  void Settle(model::ProcessingTime now);
  void MoveTo(model::EventTime t, model::ProcessingTime now);

  int64_t bucket_us_;
  std::array<Bucket, kBucketsPerBand + 2>
      ring_;  // `size_` of them from `first_` on, the oldest first, none empty
  size_t first_ = 0;
  size_t size_ = 0;
  model::EventTime watermark_;
  std::optional<model::EventTime> oldest_in_backlog_;
  std::optional<model::ProcessingTime> empty_at_;  // the last OnEmpty, if nothing came since
  model::ProcessingTime hold_until_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_PROGRESS_WATERMARK_ESTIMATORS_H_
