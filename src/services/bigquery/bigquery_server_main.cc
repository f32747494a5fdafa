// The local BigQuery alone, for tests and benchmarks:
//   bigquery_server --data-dir DIR [--port N] [--grpc-port N] [--ready-file F]
// Port 0 (the default) is a free one. The ready file is JSON: {"bigquery": "127.0.0.1:N",
// "bigquery-grpc": "127.0.0.1:N"}.
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/http_server.h"
#include "base/machine_memory.h"
#include "services/bigquery/bigquery_service.h"

namespace hornbeam::services::bigquery {
namespace {

int Fail(absl::string_view message) {
  std::fprintf(stderr, "bigquery_server: %s\n", std::string(message).c_str());
  return 1;
}

int Run(int argc, char** argv) {
  std::string data_dir, ready_file;
  int port = 0, grpc_port = 0;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (i + 1 == argc) return Fail(absl::StrCat(flag, " needs a value"));
    const std::string value = argv[++i];
    if (flag == "--data-dir") {
      data_dir = value;
    } else if (flag == "--ready-file") {
      ready_file = value;
    } else if (flag != "--port" && flag != "--grpc-port") {
      return Fail(absl::StrCat("unknown flag ", flag));
    } else if (!absl::SimpleAtoi(value, flag == "--port" ? &port : &grpc_port)) {
      return Fail(absl::StrCat(flag, " needs a number"));
    }
  }
  if (data_dir.empty()) return Fail("--data-dir is missing");

  // Blocked before any thread is made, so that the wait below gets them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto service = BigQueryService::Open({.data_dir = data_dir});
  if (!service.ok()) return Fail(service.status().message());
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", grpc_port), grpc::InsecureServerCredentials(),
                           &bound);
  builder.SetMaxReceiveMessageSize(32 << 20);
  for (grpc::Service* each : (*service)->GrpcServices()) builder.RegisterService(each);
  std::unique_ptr<grpc::Server> grpc_server = builder.BuildAndStart();
  if (!grpc_server || bound == 0) {
    return Fail(absl::StrCat("port ", grpc_port,
                             " is busy; stop the program that uses it or choose another port"));
  }
  HttpServer http;
  (*service)->RegisterRoutes(&http);
  http.Route("GET", "/metrics", [&](const HttpRequest&, HttpResponse* response) {
    response->content_type = "text/plain; version=0.0.4";
    response->body = (*service)->PrometheusText();
  });
  if (const Status status = http.Start(port); !status.ok()) return Fail(status.message());
  if (!ready_file.empty()) {
    const std::string ready = absl::StrCat("{\"bigquery\": \"127.0.0.1:", http.port(),
                                           "\", \"bigquery-grpc\": \"127.0.0.1:", bound, "\"}\n");
    // Whole or not at all: whoever waits for it reads it at once.
    const std::string draft = ready_file + ".tmp";
    std::FILE* file = std::fopen(draft.c_str(), "w");
    if (!file || std::fputs(ready.c_str(), file) < 0 || std::fclose(file) != 0 ||
        std::rename(draft.c_str(), ready_file.c_str()) != 0) {
      return Fail(absl::StrCat("the ready file '", ready_file, "' cannot be written"));
    }
  }
  int signal = 0;
  sigwait(&signals, &signal);
  (*service)->StopQueries();
  http.Stop();
  grpc_server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  (*service)->Shutdown();
  return 0;
}

}  // namespace
}  // namespace hornbeam::services::bigquery

int main(int argc, char** argv) {
  hornbeam::LimitOwnMemory();
  return hornbeam::services::bigquery::Run(argc, argv);
}
