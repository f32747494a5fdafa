// One message of a Pub/Sub subscription, as a pipeline sees it.
#ifndef HORNBEAM_IO_PUBSUB_MESSAGE_H_
#define HORNBEAM_IO_PUBSUB_MESSAGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/coder.h"
#include "model/time.h"

namespace hornbeam::io {

struct PubsubMessage {
  std::string data;
  // In order of the names; no name twice.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string message_id;
  model::EventTime publish_time;
  std::string ordering_key;
  // Why the timestamp attribute could not be used; empty in every message of the main output. The
  // element's timestamp is then the publish time.
  std::string timestamp_error;

  // The attribute's value; null when there is none of that name. Points into the message.
  const std::string* Attribute(std::string_view name) const {
    for (const auto& [key, value] : attributes) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  friend bool operator==(const PubsubMessage&, const PubsubMessage&) = default;
};

}  // namespace hornbeam::io

namespace hornbeam::model {

template <>
struct Coder<io::PubsubMessage> {
  static void Encode(const io::PubsubMessage& m, std::string* out) {
    PutBytes(out, m.data);
    PutVarint(out, m.attributes.size());
    for (const auto& [name, value] : m.attributes) {
      PutBytes(out, name);
      PutBytes(out, value);
    }
    PutBytes(out, m.message_id);
    PutSigned(out, m.publish_time.us);
    PutBytes(out, m.ordering_key);
    PutBytes(out, m.timestamp_error);
  }
  static bool Decode(ByteReader& in, io::PubsubMessage* m) {
    m->data.assign(in.Bytes());
    m->attributes.clear();
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
      auto& [name, value] = m->attributes.emplace_back();
      name.assign(in.Bytes());
      value.assign(in.Bytes());
    }
    m->message_id.assign(in.Bytes());
    m->publish_time.us = in.Signed();
    m->ordering_key.assign(in.Bytes());
    m->timestamp_error.assign(in.Bytes());
    return in.ok();
  }
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_IO_PUBSUB_MESSAGE_H_
