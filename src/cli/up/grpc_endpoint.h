// One gRPC server on one port of 127.0.0.1.
#ifndef HORNBEAM_CLI_UP_GRPC_ENDPOINT_H_
#define HORNBEAM_CLI_UP_GRPC_ENDPOINT_H_

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace hornbeam::cli {

class GrpcEndpoint {
 public:
  // Serves `services`, which outlive it. Port 0: a free one. UNAVAILABLE when the port is busy,
  // PERMISSION_DENIED when the system does not allow it; the message says which flag to change.
  static StatusOr<std::unique_ptr<GrpcEndpoint>> Start(const std::vector<grpc::Service*>& services,
                                                       int port, const std::string& flag,
                                                       int max_receive_bytes);
  ~GrpcEndpoint();  // stops

  int port() const { return port_; }
  // Takes no new calls, and cancels those that have not ended within two seconds. Idempotent.
  void Stop();

 private:
  GrpcEndpoint(std::unique_ptr<grpc::Server> server, int port);

  std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_UP_GRPC_ENDPOINT_H_
