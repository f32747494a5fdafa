#include "services/pubsub/core/publish_rules.h"

#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "google/pubsub/v1/pubsub.pb.h"
#include "services/pubsub/core/errors.h"
#include "services/pubsub/core/limits.h"
#include "services/pubsub/core/resource_name.h"

namespace hornbeam::services::pubsub {
namespace {

using google::pubsub::v1::PubsubMessage;

constexpr size_t kMaxVarint32Bytes = 5;

Status CheckMessage(const PubsubMessage& message) {
  if (message.data().empty() && message.attributes().empty()) {
    return absl::InvalidArgumentError(
        "Some messages in the PublishRequest are empty. Each message must contain either non-empty "
        "data, or at least "
        "one attribute.");
  }
  if (static_cast<int64_t>(message.data().size()) > kMaxMessageBytes) {
    return TooLarge("message_size", static_cast<int64_t>(message.data().size()), kMaxMessageBytes);
  }
  if (message.attributes().size() > kMaxAttributes) {
    return TooLarge("attribute_count", static_cast<int64_t>(message.attributes().size()),
                    kMaxAttributes);
  }
  for (const auto& [key, value] : message.attributes()) {
    if (key.empty()) return InvalidArgument("attributes", "An attribute's key must not be empty.");
    if (key.starts_with("goog")) {
      return InvalidArgument(
          "attributes", absl::StrCat("The key '", key, "' begins with 'goog', which is reserved."));
    }
    if (key.size() > kMaxAttributeKeyBytes) {
      return TooLarge("attribute_key_size", static_cast<int64_t>(key.size()),
                      kMaxAttributeKeyBytes);
    }
    if (value.size() > kMaxAttributeValueBytes) {
      return TooLarge("attribute_value_size", static_cast<int64_t>(value.size()),
                      kMaxAttributeValueBytes);
    }
  }
  if (message.ordering_key().size() > kMaxOrderingKeyBytes) {
    return TooLarge("ordering_key_size", static_cast<int64_t>(message.ordering_key().size()),
                    kMaxOrderingKeyBytes);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<EncodedMessages> EncodePublish(const google::pubsub::v1::PublishRequest& request) {
  HB_RETURN_IF_ERROR(CheckTopicName(request.topic()));
  const int count = request.messages_size();
  if (count == 0) {
    return absl::InvalidArgumentError(
        "The value for message_count is too small. You passed 0 in the request, but the minimum "
        "value is 1.");
  }
  if (count > kMaxPublishMessages) return TooLarge("message_count", count, kMaxPublishMessages);
  std::vector<const PubsubMessage*> messages;
  messages.reserve(static_cast<size_t>(count));
  std::deque<PubsubMessage> cleared;  // the rare messages that came with what the server gives
  int64_t content_bytes = 0;
  size_t encoded_bytes = 0;
  for (const PubsubMessage& message : request.messages()) {
    HB_RETURN_IF_ERROR(CheckMessage(message));
    messages.push_back(&message);
    if (!message.message_id().empty() || message.has_publish_time()) {
      cleared.push_back(message);
      cleared.back().clear_message_id();
      cleared.back().clear_publish_time();
      messages.back() = &cleared.back();
    }
    content_bytes += static_cast<int64_t>(message.data().size());
    encoded_bytes += messages.back()->ByteSizeLong() + kMaxVarint32Bytes;
  }
  if (content_bytes > kMaxPublishBytes)
    return TooLarge("request_size", content_bytes, kMaxPublishBytes);
  EncodedMessages encoded;
  encoded.count = static_cast<uint32_t>(count);
  encoded.payload.reserve(encoded_bytes);
  for (const PubsubMessage* message : messages) {
    const size_t size = static_cast<size_t>(message->GetCachedSize());
    PutVarint(&encoded.payload, size);
    const size_t at = encoded.payload.size();
    encoded.payload.resize(at + size);
    message->SerializeWithCachedSizesToArray(
        reinterpret_cast<uint8_t*>(encoded.payload.data() + at));
  }
  return encoded;
}

}  // namespace hornbeam::services::pubsub
