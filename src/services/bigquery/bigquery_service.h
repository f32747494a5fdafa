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
  // What all queries together may hold in memory, and, beyond that, on disk below data_dir. 0: a
  // quarter of the machine's memory, at most 4 GB; four times the memory.
  int64_t query_memory_bytes = 0;
  int64_t query_disk_bytes = 0;
  // Of one query's result; one that is larger needs a destination table.
  int64_t max_result_bytes = int64_t{512} << 20;
  // Queries that run at once, and that may wait for their turn.
  int max_running_queries = 100;
  int max_pending_queries = 1000;
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
  // Cancels the queries that run and refuses further ones, so that no request waits for one any
  // more: call it before the servers are stopped. Idempotent.
  void StopQueries();
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
