#include "connectors/pubsub/message_decoder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/pubsub/event_timestamp.h"
#include "google/pubsub/v1/pubsub.pb.h"

namespace hornbeam::connectors {
namespace {

// What stands in front of an id where it is hashed: which kind of id it is.
constexpr char kIdAttribute = 'a';
constexpr char kMessageId = 'm';
// What a message takes besides its texts, and an attribute besides name and value, at most.
constexpr uint64_t kMessageOverhead = 64;
constexpr uint64_t kAttributeOverhead = 16;

template <typename T>
void MoveBehind(std::vector<T>&& from, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void ReceivedMessages::Append(ReceivedMessages&& more) {
  MoveBehind(std::move(more.messages), &messages);
  MoveBehind(std::move(more.event_times), &event_times);
  MoveBehind(std::move(more.ids), &ids);
  oldest_event = std::min(oldest_event, more.oldest_event);
  bytes += more.bytes;
}

model::EventTime MessageDecoder::Decode(google::pubsub::v1::StreamingPullResponse* response,
                                        ReceivedMessages* received, AckIds* ack_ids) const {
  const size_t count = static_cast<size_t>(response->received_messages_size());
  received->messages.reserve(count);
  received->event_times.reserve(count);
  received->ids.reserve(count);
  model::EventTime oldest_published = model::EventTime::Max();
  std::string scratch;
  for (auto& envelope : *response->mutable_received_messages()) {
    ack_ids->Add(envelope.ack_id());
    auto& from = *envelope.mutable_message();
    io::PubsubMessage& message = received->messages.emplace_back();
    message.data = std::move(*from.mutable_data());
    message.attributes.reserve(static_cast<size_t>(from.attributes_size()));
    for (auto& [name, value] : *from.mutable_attributes()) {
      received->bytes += name.size() + value.size() + kAttributeOverhead;
      message.attributes.emplace_back(name, std::move(value));
    }
    std::sort(message.attributes.begin(), message.attributes.end());
    message.message_id = std::move(*from.mutable_message_id());
    message.publish_time.us =
        from.publish_time().seconds() * 1'000'000 + from.publish_time().nanos() / 1000;
    message.ordering_key = std::move(*from.mutable_ordering_key());
    received->bytes += message.data.size() + message.message_id.size() +
                       message.ordering_key.size() + kMessageOverhead;
    oldest_published = std::min(oldest_published, message.publish_time);
    received->ids.push_back(IdOf(message, &scratch));
    const model::EventTime event_time = EventTimeOf(&message);
    received->event_times.push_back(event_time);
    if (message.timestamp_error.empty()) {
      received->oldest_event = std::min(received->oldest_event, event_time);
    }
  }
  return oldest_published;
}

model::EventTime MessageDecoder::EventTimeOf(io::PubsubMessage* message) const {
  if (timestamp_attribute_.empty()) return message->publish_time;
  const std::string* const text = message->Attribute(timestamp_attribute_);
  if (text == nullptr) {
    message->timestamp_error =
        absl::StrCat("the message has no timestamp attribute '", timestamp_attribute_, "'");
    return message->publish_time;
  }
  const std::optional<model::EventTime> parsed = ParseEventTimestamp(*text);
  if (parsed) return *parsed;
  message->timestamp_error =
      absl::StrCat("the timestamp attribute '", timestamp_attribute_, "' has the value '", *text,
                   "', which is neither RFC 3339 nor milliseconds since 1970");
  return message->publish_time;
}

model::KeyHash MessageDecoder::IdOf(const io::PubsubMessage& message, std::string* scratch) const {
  const std::string* const id =
      id_attribute_.empty() ? nullptr : message.Attribute(id_attribute_);
  scratch->assign(1, id != nullptr ? kIdAttribute : kMessageId);
  scratch->append(id != nullptr ? *id : message.message_id);
  return model::HashKeyBytes(*scratch);
}

}  // namespace hornbeam::connectors
