// Runs GoogleSQL against the catalog and its tables.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_QUERY_ENGINE_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_QUERY_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

struct QueryRequest {
  std::string project;
  std::optional<DatasetName> default_dataset;
  std::string sql;
  // queryParameters, as the REST API has them.
  nlohmann::json parameters = nlohmann::json::array();
  // Where the rows of a SELECT go besides the answer.
  std::optional<TableName> destination;
  std::string write_disposition = "WRITE_EMPTY";
};

// Rows in memory. Immutable; shared between readers.
struct RowSet {
  TableSchema schema;
  std::vector<DataChunk> chunks;
  int64_t total_rows = 0;

  // Appends rows [first, first + n) in wire form, separated by commas.
  Status AppendJson(int64_t first, int64_t n, bool int64_timestamps, std::string* out) const;
};

// What the last statement of a query did.
struct QueryOutcome {
  std::string statement_type;
  std::shared_ptr<const RowSet> rows;  // null when the statement gives none
  // INSERT, UPDATE, DELETE, MERGE, TRUNCATE TABLE.
  std::optional<int64_t> affected_rows;
  // DDL.
  std::string ddl_operation;
  std::optional<TableName> ddl_target;
  std::vector<TableName> referenced;
  int statements = 1;
};

// A place from which a running query can be stopped. Thread-safe.
class Cancellation {
 public:
  // From now on the query fails with CANCELLED.
  void Cancel();
  bool cancelled() const;
  // While it lives, Cancel interrupts the connection.
  class Scope {
   public:
    Scope(Cancellation* cancellation, Connection* connection);
    ~Scope();

   private:
    Cancellation* const cancellation_;
  };

 private:
  mutable Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  Connection* connection_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Thread-safe. A SELECT runs beside everything else; what writes takes the writer's turn
// (Catalog::WriteTransaction).
class QueryEngine {
 public:
  explicit QueryEngine(Catalog* catalog) : catalog_(catalog) {}

  // Analyses the first statement without running it. Gives its statement type and, of a SELECT, the
  // schema.
  StatusOr<QueryOutcome> Analyze(const QueryRequest& request) const;
  // A single query as DuckDB's text, and its schema: for views.
  StatusOr<std::pair<std::string, TableSchema>> TranslateQuery(const QueryRequest& request) const;
  // Runs all statements in order until one fails.
  StatusOr<QueryOutcome> Run(const QueryRequest& request, Cancellation* cancellation) const;

 private:
  StatusOr<nlohmann::json> Translate(const QueryRequest& request, int index) const;
  nlohmann::json Resolve(const nlohmann::json& wanted) const;
  nlohmann::json InformationSchema(const nlohmann::json& wanted) const;
  StatusOr<QueryOutcome> RunStatement(const QueryRequest& request, const nlohmann::json& plan,
                                      Cancellation* cancellation) const;
  StatusOr<std::shared_ptr<const RowSet>> Select(Connection& connection, const std::string& sql,
                                                 Cancellation* cancellation) const;
  StatusOr<TableSchema> SchemaOf(Connection& connection, const std::string& sql) const;
  Status CreateTable(const nlohmann::json& plan, QueryOutcome* outcome) const;
  Status AlterTable(const nlohmann::json& plan) const;
  Status WriteDestination(const QueryRequest& request, const std::string& sql) const;

  Catalog* const catalog_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_QUERY_ENGINE_H_
