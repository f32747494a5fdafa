// An ack id names one delivery of one message to one subscription: a short string that a client
// hands back.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_ACK_ID_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_ACK_ID_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "services/pubsub/store/seq_range.h"

namespace hornbeam::services::pubsub {

struct AckId {
  uint32_t incarnation = 0;  // of the subscription
  uint16_t attempt = 0;      // which delivery of the message, from 1, modulo 2^16
  Seq seq = 0;

  bool operator==(const AckId&) const = default;
};

inline constexpr size_t kAckIdChars = 24;

// Writes exactly kAckIdChars characters of [A-Za-z0-9_-] to `out`.
void EncodeAckId(const AckId& id, char* out);
// Nothing when `text` was not made by EncodeAckId (its check bits say so). Accepts any bytes.
std::optional<AckId> DecodeAckId(std::string_view text);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_ACK_ID_H_
