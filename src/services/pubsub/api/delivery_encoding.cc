#include "services/pubsub/api/delivery_encoding.h"

#include <grpcpp/support/slice.h>

#include <charconv>
#include <utility>

#include "base/bytes.h"

namespace hornbeam::services::pubsub {
namespace {

// Tags: field number << 3 | wire type (0 varint, 2 length-delimited).
constexpr char kResponseReceivedMessages = 1 << 3 | 2;
constexpr char kReceivedMessageAckId = 1 << 3 | 2;
constexpr char kReceivedMessageMessage = 2 << 3 | 2;
constexpr char kPubsubMessageMessageId = 3 << 3 | 2;
constexpr char kPubsubMessagePublishTime = 4 << 3 | 2;
constexpr char kTimestampSeconds = 1 << 3 | 0;
constexpr char kTimestampNanos = 2 << 3 | 0;

constexpr size_t kMaxFramingBytes = 96;  // of one message, around its body

size_t VarintBytes(uint64_t v) {
  size_t n = 1;
  while (v >= 0x80) {
    v >>= 7;
    ++n;
  }
  return n;
}

// The publish_time field with tag and length.
std::string EncodePublishTime(int64_t time_us) {
  const int64_t seconds = time_us >= 0 ? time_us / 1'000'000 : -((-time_us + 999'999) / 1'000'000);
  const int64_t nanos = (time_us - seconds * 1'000'000) * 1000;
  std::string timestamp(1, kTimestampSeconds);
  PutVarint(&timestamp, static_cast<uint64_t>(seconds));
  if (nanos != 0) {
    timestamp.push_back(kTimestampNanos);
    PutVarint(&timestamp, static_cast<uint64_t>(nanos));
  }
  std::string field(1, kPubsubMessagePublishTime);
  PutBytes(&field, timestamp);
  return field;
}

}  // namespace

void AppendReceivedMessages(const Delivery& delivery, std::string* out) {
  size_t total = out->size();
  for (const Delivery::Message& message : delivery.messages)
    total += message.stored.body.size() + kMaxFramingBytes;
  out->reserve(total);
  int64_t encoded_time_us = -1;
  std::string publish_time;
  for (const Delivery::Message& message : delivery.messages) {
    const StoredMessage& stored = message.stored;
    if (stored.publish_time_us != encoded_time_us || publish_time.empty()) {
      encoded_time_us = stored.publish_time_us;
      publish_time = EncodePublishTime(encoded_time_us);
    }
    char id[20];
    const size_t id_size =
        static_cast<size_t>(std::to_chars(id, id + sizeof id, stored.message_id).ptr - id);
    const size_t message_size = stored.body.size() + 2 + id_size + publish_time.size();
    const size_t received_size = 2 + kAckIdChars + 1 + VarintBytes(message_size) + message_size;
    out->push_back(kResponseReceivedMessages);
    PutVarint(out, received_size);
    out->push_back(kReceivedMessageAckId);
    out->push_back(static_cast<char>(kAckIdChars));
    char ack_id[kAckIdChars];
    EncodeAckId(message.ack_id, ack_id);
    out->append(ack_id, kAckIdChars);
    out->push_back(kReceivedMessageMessage);
    PutVarint(out, message_size);
    out->append(stored.body);
    out->push_back(kPubsubMessageMessageId);
    out->push_back(static_cast<char>(id_size));
    out->append(id, id_size);
    out->append(publish_time);
  }
}

grpc::ByteBuffer ToByteBuffer(std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  grpc::Slice slice(
      owned->data(), owned->size(), [](void* string) { delete static_cast<std::string*>(string); },
      owned);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace hornbeam::services::pubsub
