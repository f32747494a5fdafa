// Errors in the words of Google's Pub/Sub, which client programs match on.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_ERRORS_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_ERRORS_H_

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace hornbeam::services::pubsub {

// `name` is a full resource name; the message carries its last part, as Google's does.
Status ResourceNotFound(std::string_view name);
Status ResourceExists(std::string_view name);
// These two shorten what is too long for an error of gRPC.
Status InvalidResourceName(std::string_view name);
Status InvalidAckId(std::string_view ack_id);
Status InvalidArgument(std::string_view argument, std::string_view why);
Status TooLarge(std::string_view what, int64_t given, int64_t maximum);
// A feature of Google's Pub/Sub that this server does not have.
Status NotSupported(std::string_view feature);
Status ShuttingDown();

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_ERRORS_H_
