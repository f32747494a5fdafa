#include "connectors/google/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hornbeam::connectors {
namespace {

// A Pub/Sub response can carry 10 MB of messages, and more with many small ones.
constexpr int kMaxReceiveBytes = 64 << 20;

}  // namespace

Endpoint ResolveEndpoint(const std::string& option, const char* variable,
                         const std::string& google) {
  std::string target = option;
  if (target.empty()) {
    if (const char* const value = std::getenv(variable)) target = value;
  }
  if (target.empty()) return {google, false};
  return {std::string(absl::StripPrefix(target, "http://")), true};
}

StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const Endpoint& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  // A gRPC server takes more than a ping in five minutes without data for an attack.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 310'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  // A channel of one's own: sources and sinks do not share a connection's flow control.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      endpoint.local ? grpc::InsecureChannelCredentials() : grpc::GoogleDefaultCredentials();
  if (credentials == nullptr) {
    return absl::UnauthenticatedError(absl::StrCat(
        "no Google credentials for ", endpoint.target,
        ": run 'gcloud auth application-default login', or start 'hornbeam up' and set its "
        "endpoints"));
  }
  return grpc::CreateCustomChannel(endpoint.target, credentials, arguments);
}

Status FromGrpc(const grpc::Status& status) {
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

bool IsTransient(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled: return true;
    default: return false;
  }
}

}  // namespace hornbeam::connectors
