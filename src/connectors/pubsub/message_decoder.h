// Turns what Pub/Sub sends into elements.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_MESSAGE_DECODER_H_
#define HORNBEAM_CONNECTORS_PUBSUB_MESSAGE_DECODER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "connectors/pubsub/ack_ledger.h"
#include "hornbeam/io/pubsub_message.h"
#include "model/key_hash.h"
#include "model/time.h"

namespace google::pubsub::v1 {
class StreamingPullResponse;
}  // namespace google::pubsub::v1

namespace hornbeam::connectors {

// Messages in the order of their receipt, column by column.
struct ReceivedMessages {
  std::vector<io::PubsubMessage> messages;
  std::vector<model::EventTime> event_times;
  // What makes two messages the same one: of the id attribute, else of the message id. An attribute
  // is never the same as a message id.
  std::vector<model::KeyHash> ids;
  model::EventTime oldest_event = model::EventTime::Max();  // but for those with a timestamp_error
  uint64_t bytes = 0;  // no less than what the server counts them for

  size_t size() const { return messages.size(); }
  void Append(ReceivedMessages&& more);
};

// Immutable; thread-safe.
class MessageDecoder {
 public:
  MessageDecoder(std::string id_attribute, std::string timestamp_attribute)
      : id_attribute_(std::move(id_attribute)),
        timestamp_attribute_(std::move(timestamp_attribute)) {}

  // Moves the messages out of *response into *received and their ack ids into *ack_ids (both empty
  // at the call), and gives the least publish time.
  model::EventTime Decode(google::pubsub::v1::StreamingPullResponse* response,
                          ReceivedMessages* received, AckIds* ack_ids) const;

 private:
  model::EventTime EventTimeOf(io::PubsubMessage* message) const;
  // Uses *scratch.
  model::KeyHash IdOf(const io::PubsubMessage& message, std::string* scratch) const;

  const std::string id_attribute_;
  const std::string timestamp_attribute_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_MESSAGE_DECODER_H_
