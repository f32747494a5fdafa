// The local BigQuery: REST v2 and the Storage Write API over one DuckDB file.
#ifndef HORNBEAM_SERVICES_BIGQUERY_BIGQUERY_SERVICE_H_
#define HORNBEAM_SERVICES_BIGQUERY_BIGQUERY_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/http_server.h"
#include "base/status.h"

namespace hornbeam::services::bigquery {

struct BigQueryOptions {
  // Made when it is missing. One process at a time.
  std::string data_dir;
  Clock* clock = Clock::System();
  // For callers that name none; any project id is accepted in a request, and each has its own data.
  std::string default_project = "local";
};

// Thread-safe. Everything that was acknowledged is in the file; see docs/formats/bigquery.md.
class BigQueryService {
 public:
  // Errors: FAILED_PRECONDITION (in use by another process, or written by another version),
  // DATA_LOSS (damaged file), PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full). The message names
  // the path.
  static StatusOr<std::unique_ptr<BigQueryService>> Open(BigQueryOptions options);
  ~BigQueryService();
  BigQueryService(const BigQueryService&) = delete;

  // To register with a gRPC server. Owned by this object, which outlives the server.
  std::vector<grpc::Service*> GrpcServices();
  // The paths as they are and behind /bigquery/v2. This object outlives the server's last request.
  void RegisterRoutes(HttpServer* server);
  // Metrics in Prometheus' text form.
  std::string PrometheusText() const;
  // Refuses further writes, commits what waits, ends the threads and writes the log into the file.
  // Call it when the servers have stopped. Idempotent; the destructor does it too.
  void Shutdown();

 private:
  struct Parts;
  explicit BigQueryService(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_BIGQUERY_SERVICE_H_
