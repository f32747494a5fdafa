// From our errors to gRPC's.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_GRPC_STATUS_H_
#define HORNBEAM_SERVICES_PUBSUB_API_GRPC_STATUS_H_

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace hornbeam::services::pubsub {

grpc::Status ToGrpcStatus(const Status& status);

// Ends a call at once.
grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const grpc::Status& status);

// The error of an Acknowledge or ModifyAckDeadline of an exactly-once subscription: its details
// name each refused ack id, which is how Google's clients tell which of a request's ids have
// failed. More than an error can name are refused without details, which clients take for a failure
// of the request's ids altogether.
grpc::Status RefusedAckIds(const std::vector<std::string>& ack_ids);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_GRPC_STATUS_H_
