#include "services/bigquery/bigquery_service.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/machine_memory.h"
#include "services/bigquery/api/rest_api.h"
#include "services/bigquery/api/write_service.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/core/group_committer.h"
#include "services/bigquery/core/insert_id_window.h"
#include "services/bigquery/core/jobs.h"
#include "services/bigquery/core/query_engine.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

namespace {

int64_t UsualMemoryBytes() {
  return std::clamp(MachineMemoryBytes() / 4, int64_t{256} << 20, int64_t{4} << 30);
}

// DuckDB looks at the header when it opens, and finds other damage when it reads.
Status OpenError(const std::string& path, const Status& status) {
  const bool says_what_to_do = absl::IsResourceExhausted(status) ||
                               absl::IsFailedPrecondition(status) || absl::IsDataLoss(status);
  if (says_what_to_do) return Annotate(status, absl::StrCat("opening '", path, "'"));
  return absl::DataLossError(
      absl::StrCat("the BigQuery database '", path, "' is damaged (", status.message(),
                   "); restore it from a copy, or move it away to start empty"));
}

}  // namespace

// In the order of their making; destroyed the other way round.
struct BigQueryService::Parts {
  Parts(std::unique_ptr<Database> opened, std::unique_ptr<Catalog> loaded,
        const BigQueryOptions& options)
      : database(std::move(opened)),
        catalog(std::move(loaded)),
        committer(catalog.get()),
        insert_ids(options.clock),
        engine(catalog.get(), {options.max_result_bytes, 2 * options.max_result_bytes}),
        jobs(&engine, options.clock,
             {.running = static_cast<size_t>(options.max_running_queries),
              .pending = static_cast<size_t>(options.max_pending_queries)}),
        rest({catalog.get(), &committer, &insert_ids, &engine, &jobs}),
        write_service(catalog.get(), &committer) {}

  std::unique_ptr<Database> database;
  std::unique_ptr<Catalog> catalog;
  GroupCommitter committer;
  InsertIdWindow insert_ids;
  QueryEngine engine;
  Jobs jobs;
  RestApi rest;
  WriteService write_service;
  bool shut_down = false;
};

BigQueryService::BigQueryService(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
BigQueryService::~BigQueryService() { Shutdown(); }

StatusOr<std::unique_ptr<BigQueryService>> BigQueryService::Open(BigQueryOptions options) {
  if (const Status made = FileSystem::Posix()->CreateDirectories(options.data_dir); !made.ok()) {
    return Status(made.code(),
                  absl::StrCat("the BigQuery data directory '", options.data_dir,
                               "' cannot be made; choose another one or change its rights (",
                               made.message(), ")"));
  }
  const std::string path = (std::filesystem::path(options.data_dir) / "bigquery.duckdb").string();
  Database::Options limits;
  limits.memory_bytes =
      options.query_memory_bytes > 0 ? options.query_memory_bytes : UsualMemoryBytes();
  limits.temporary_bytes =
      options.query_disk_bytes > 0 ? options.query_disk_bytes : 4 * limits.memory_bytes;
  limits.temporary_directory = (std::filesystem::path(options.data_dir) / "tmp").string();
  HB_ASSIGN_OR_RETURN(auto database, Database::Open(path, limits));
  auto catalog = Catalog::Open(database.get(), options.clock);
  if (!catalog.ok()) return OpenError(path, catalog.status());
  auto parts = std::make_unique<Parts>(std::move(database), *std::move(catalog), options);
  return std::unique_ptr<BigQueryService>(new BigQueryService(std::move(parts)));
}

std::vector<grpc::Service*> BigQueryService::GrpcServices() { return {&parts_->write_service}; }

void BigQueryService::RegisterRoutes(HttpServer* server) { parts_->rest.RegisterRoutes(server); }

std::string BigQueryService::PrometheusText() const {
  std::string text;
  const auto counter = [&](const char* name, const char* what, int64_t value) {
    absl::StrAppend(&text, "# HELP ", name, " ", what, "\n# TYPE ", name, " counter\n", name, " ",
                    value, "\n");
  };
  counter("bigquery_uploaded_row_count",
          "Rows made durable by the Storage Write API and insertAll.",
          parts_->committer.rows_committed());
  counter("bigquery_commit_count", "Transactions that made appended rows durable.",
          parts_->committer.transactions());
  counter("bigquery_query_count", "Query jobs that have ended.", parts_->jobs.finished());
  counter("bigquery_rest_request_count", "Requests to the REST API.", parts_->rest.requests());
  return text;
}

void BigQueryService::StopQueries() { parts_->jobs.Stop(); }

void BigQueryService::Shutdown() {
  if (std::exchange(parts_->shut_down, true)) return;
  parts_->jobs.Stop();
  parts_->committer.Stop();
  // A log that is left is replayed at the next start: no error to speak of.
  if (auto connection = parts_->database->Connect(); connection.ok())
    (*connection)->Run("CHECKPOINT").IgnoreError();
}

}  // namespace hornbeam::services::bigquery
