// The local Pub/Sub alone, for tests and benchmarks; `hornbeam up` runs it beside the other
// services.
//
//   pubsub_server --data-dir DIR [--port N] [--ready-file FILE]
//
// Prints its address, and writes it to the ready file, once it answers. SIGTERM and SIGINT end it
// cleanly.
#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "services/pubsub/pubsub_service.h"

namespace {

struct Flags {
  std::string data_dir;
  std::string ready_file;
  int port = 8085;
};

int Fail(absl::string_view message) {
  std::fprintf(stderr, "pubsub_server: %.*s\n", static_cast<int>(message.size()), message.data());
  return 1;
}

bool ParseFlags(const std::vector<std::string>& args, Flags* flags) {
  for (size_t i = 0; i < args.size(); i += 2) {
    if (i + 1 == args.size()) return false;
    const std::string& value = args[i + 1];
    if (args[i] == "--data-dir") {
      flags->data_dir = value;
    } else if (args[i] == "--ready-file") {
      flags->ready_file = value;
    } else if (args[i] != "--port" || !absl::SimpleAtoi(value, &flags->port)) {
      return false;
    }
  }
  return !flags->data_dir.empty();
}

}  // namespace

int main(int argc, char** argv) {
  using hornbeam::services::pubsub::PubSubService;
  Flags flags;
  if (!ParseFlags(std::vector<std::string>(argv + 1, argv + argc), &flags)) {
    return Fail("usage: pubsub_server --data-dir DIR [--port N, 0 for any] [--ready-file FILE]");
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals,
                  nullptr);  // inherited by every thread; sigwait below takes them

  auto service = PubSubService::Open({.data_dir = flags.data_dir});
  if (!service.ok()) return Fail(service.status().message());
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(hornbeam::services::pubsub::kMaxReceiveBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  int port = 0;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", flags.port),
                           grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* s : (*service)->GrpcServices()) builder.RegisterService(s);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return Fail(absl::StrCat("port ", flags.port,
                             " is in use: choose another with --port, or 0 for any free one"));
  }
  const std::string address = absl::StrCat("127.0.0.1:", port);
  if (!flags.ready_file.empty()) {
    const hornbeam::Status written = hornbeam::WriteFileAtomically(
        *hornbeam::FileSystem::Posix(), flags.ready_file, address + "\n");
    if (!written.ok()) return Fail(written.message());
  }
  std::printf("Pub/Sub is at %s\n", address.c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  (*service)->Shutdown();
  server->Shutdown();
  return 0;
}
