#include "cli/up/grpc_endpoint.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::cli {
namespace {

constexpr std::chrono::seconds kGrace{2};

Status Busy(int port, const std::string& flag) {
  return absl::UnavailableError(absl::StrCat(
      "port ", port, " is busy; stop the program that uses it, or choose another with ", flag,
      " (0 picks a free one)"));
}

// gRPC says only that it could not bind, and writes several lines of its own about it: ask first.
Status CheckPort(int port, const std::string& flag) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return ErrnoStatus(errno, "opening a socket");
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int error =
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  ::close(socket);
  if (error == 0) return absl::OkStatus();
  if (error == EADDRINUSE) return Busy(port, flag);
  if (error == EACCES) {
    return absl::PermissionDeniedError(absl::StrCat(
        "port ", port, " needs rights this user does not have; choose one above 1023 with ", flag));
  }
  return ErrnoStatus(error, absl::StrCat("binding port ", port));
}

}  // namespace

GrpcEndpoint::GrpcEndpoint(std::unique_ptr<grpc::Server> server, int port)
    : server_(std::move(server)), port_(port) {}

GrpcEndpoint::~GrpcEndpoint() { Stop(); }

StatusOr<std::unique_ptr<GrpcEndpoint>> GrpcEndpoint::Start(
    const std::vector<grpc::Service*>& services, int port, const std::string& flag,
    int max_receive_bytes) {
  if (port != 0) HB_RETURN_IF_ERROR(CheckPort(port, flag));
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(max_receive_bytes);
  int bound = 0;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(),
                           &bound);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || bound == 0) return Busy(port, flag);
  return std::unique_ptr<GrpcEndpoint>(new GrpcEndpoint(std::move(server), bound));
}

void GrpcEndpoint::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  server_->Wait();
  server_.reset();
}

}  // namespace hornbeam::cli
