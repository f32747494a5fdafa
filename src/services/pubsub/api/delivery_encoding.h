// Deliveries on the wire. The stored bytes of a message are copied as they are into a PullResponse
// or StreamingPullResponse (both have received_messages as field 1); no message is ever decoded on
// its way out.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_DELIVERY_ENCODING_H_
#define HORNBEAM_SERVICES_PUBSUB_API_DELIVERY_ENCODING_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "services/pubsub/core/subscription.h"

namespace hornbeam::services::pubsub {

// Appends the received_messages of a response.
void AppendReceivedMessages(const Delivery& delivery, std::string* out);

// Takes the bytes without copying them.
grpc::ByteBuffer ToByteBuffer(std::string bytes);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_DELIVERY_ENCODING_H_
