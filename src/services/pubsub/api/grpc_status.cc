#include "services/pubsub/api/grpc_status.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace hornbeam::services::pubsub {

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

grpc::Status RefusedAckIds(const std::vector<std::string>& ack_ids) {
  static constexpr char kMessage[] =
      "Some acknowledgement ids in the request were invalid. This could be because the "
      "acknowledgement ids have expired or the acknowledgement ids were malformed.";
  // Details travel in headers, of which clients take 8 kB. Fewer than all may not be named: an id
  // that is not counts as accepted.
  constexpr size_t kMaxNamed = 100;
  if (ack_ids.size() > kMaxNamed) return {grpc::StatusCode::FAILED_PRECONDITION, kMessage};
  google::rpc::ErrorInfo info;
  info.set_reason("EXACTLY_ONCE_ACKID_FAILURE");
  info.set_domain("pubsub.googleapis.com");
  for (const std::string& id : ack_ids)
    (*info.mutable_metadata())[id] = "PERMANENT_FAILURE_INVALID_ACK_ID";
  google::rpc::Status details;
  details.set_code(static_cast<int>(grpc::StatusCode::FAILED_PRECONDITION));
  details.set_message(kMessage);
  details.add_details()->PackFrom(info);
  return {grpc::StatusCode::FAILED_PRECONDITION, details.message(), details.SerializeAsString()};
}

}  // namespace hornbeam::services::pubsub
