// How a connector reaches a Google API over gRPC: a local service, or Google Cloud.
#ifndef HORNBEAM_CONNECTORS_GOOGLE_CHANNEL_H_
#define HORNBEAM_CONNECTORS_GOOGLE_CHANNEL_H_

#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace hornbeam::connectors {

struct Endpoint {
  std::string target;
  bool local = false;  // no TLS, no credentials
};

// `option` if it is not empty, else the environment variable `variable` if that is set, else
// `google`. A leading "http://" is dropped.
Endpoint ResolveEndpoint(const std::string& option, const char* variable,
                         const std::string& google);

// Never blocks. UNAUTHENTICATED where Google Cloud is meant and no default credentials are found.
StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const Endpoint& endpoint);

// The same code and message.
Status FromGrpc(const grpc::Status& status);

// Whether the same call may succeed later without anyone's doing.
bool IsTransient(const Status& status);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_GOOGLE_CHANNEL_H_
