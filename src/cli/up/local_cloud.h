// All local services and the console, wired together in one process: what `hornbeam up` is, and
// what `hornbeam demo` and tests start for themselves.
#ifndef HORNBEAM_CLI_UP_LOCAL_CLOUD_H_
#define HORNBEAM_CLI_UP_LOCAL_CLOUD_H_

#include <memory>
#include <string>

#include "base/file_system.h"
#include "base/http_server.h"
#include "base/status.h"
#include "cli/up/endpoints.h"
#include "cli/up/grpc_endpoint.h"
#include "console/console_server.h"
#include "console/job_registry.h"
#include "services/bigquery/bigquery_service.h"
#include "services/pubsub/pubsub_service.h"

namespace hornbeam::cli {

// The project of callers that name none. Any other works too, each with its own data.
inline constexpr char kDefaultProject[] = "local";

struct LocalCloudOptions {
  std::string data_dir;
  // 0: a free one.
  int pubsub_port = kPubSubPort;
  int bigquery_port = kBigQueryPort;
  int bigquery_grpc_port = kBigQueryGrpcPort;
  int console_port = kConsolePort;
};

// Start and Stop from one thread; the rest is thread-safe in between.
class LocalCloud {
 public:
  // Returns when every service answers. A message says what is wrong, with which port, directory or
  // file, and what to do.
  static StatusOr<std::unique_ptr<LocalCloud>> Start(const LocalCloudOptions& options);
  ~LocalCloud();  // stops

  const Endpoints& endpoints() const { return endpoints_; }
  const std::string& data_dir() const { return data_dir_; }
  console::JobRegistry* jobs() { return jobs_.get(); }
  services::pubsub::PubSubService* pubsub() { return pubsub_.get(); }

  // Ends streams and calls, then the services, so that nothing acknowledged is lost. Idempotent.
  void Stop();

 private:
  explicit LocalCloud(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  Status StartPubSub(int port);
  Status StartBigQuery(int port, int grpc_port);
  Status StartConsole(int port);

  const std::string data_dir_;
  Endpoints endpoints_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<console::JobRegistry> jobs_;
  std::unique_ptr<services::pubsub::PubSubService> pubsub_;
  std::unique_ptr<services::bigquery::BigQueryService> bigquery_;
  std::unique_ptr<GrpcEndpoint> pubsub_grpc_;
  std::unique_ptr<GrpcEndpoint> bigquery_grpc_;
  std::unique_ptr<HttpServer> bigquery_http_;
  std::unique_ptr<console::ConsoleServer> console_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_UP_LOCAL_CLOUD_H_
