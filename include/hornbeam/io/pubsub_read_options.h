// What a pipeline says about a subscription that it reads.
#ifndef HORNBEAM_IO_PUBSUB_READ_OPTIONS_H_
#define HORNBEAM_IO_PUBSUB_READ_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "model/time.h"

namespace hornbeam::io {

// How event time is known to have come so far.
struct PubsubWatermarkPolicy {
  // Set: the greatest event time seen less `disorder`, in steps of `granularity`. It depends on the
  // messages and their order alone. Not set: estimated from what came lately
  // (engine::PubSubWatermark).
  struct Bounded {
    model::Duration disorder;
    model::Duration granularity = model::Seconds(1);
  };
  std::optional<Bounded> bounded;

  static PubsubWatermarkPolicy Estimated() { return {}; }
  static PubsubWatermarkPolicy BoundedOutOfOrderness(
      model::Duration disorder, model::Duration granularity = model::Seconds(1)) {
    return {Bounded{disorder, granularity}};
  }
};

struct PubsubReadOptions {
  std::string subscription;  // projects/PROJECT/subscriptions/NAME

  // Messages with the same value of this attribute are one message. Empty, or where a message does
  // not carry it: the message id.
  std::string id_attribute;
  // Carries the event time, in RFC 3339 or in milliseconds since 1970. Empty: the publish time.
  std::string timestamp_attribute;
  PubsubWatermarkPolicy watermark;

  // "host:port" without TLS. Empty: PUBSUB_EMULATOR_HOST, else Google Cloud with the application's
  // default credentials.
  std::string endpoint;

  // How much may be received and not yet acknowledged.
  int64_t max_outstanding_messages = 100'000;
  int64_t max_outstanding_bytes = 256 << 20;
  // A lease is asked for, and extended by, this much at a time; 10 to 30 s. A restarted job's
  // watermark stands still for about as long.
  int lease_seconds = 10;
  // How long a start waits for Pub/Sub to answer.
  int start_timeout_seconds = 30;
  // Writes the label "hornbeam-reader" on the subscription while it is read, so that a second job
  // on it is noticed. Needs the right to update the subscription; without it nothing is noticed.
  bool mark_subscription = true;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_PUBSUB_READ_OPTIONS_H_
