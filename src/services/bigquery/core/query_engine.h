// Runs GoogleSQL against the catalog and its tables.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_QUERY_ENGINE_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_QUERY_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "services/bigquery/core/cancellation.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/core/row_set.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

struct QueryRequest {
  std::string project;
  std::optional<DatasetName> default_dataset;
  std::string sql;
  // queryParameters, as the REST API has them.
  nlohmann::json parameters = nlohmann::json::array();
  // Where the rows of a SELECT go; without it they are the outcome's.
  std::optional<TableName> destination;
  std::string write_disposition = "WRITE_EMPTY";
};

// What the last statement of a query did.
struct QueryOutcome {
  std::string statement_type;
  std::shared_ptr<const RowSet> rows;    // null when the statement gives none, or has a destination
  std::optional<TableName> destination;  // where the rows of a SELECT are instead
  // INSERT, UPDATE, DELETE, MERGE, TRUNCATE TABLE.
  std::optional<int64_t> affected_rows;
  // DDL.
  std::string ddl_operation;
  std::optional<TableName> ddl_target;
  std::vector<TableName> referenced;
  int statements = 1;
};

// Thread-safe. A SELECT runs beside everything else, also when its rows go to a table; what writes
// takes the writer's turn (Catalog::WriteTransaction). What the catalog says is looked up, and the
// statement tried again, when the catalog has changed while it ran.
class QueryEngine {
 public:
  struct Limits {
    int64_t result_bytes = int64_t{512} << 20;           // of one result
    int64_t results_in_use_bytes = int64_t{1024} << 20;  // of those that are being made
  };
  QueryEngine(Catalog* catalog, const Limits& limits) : catalog_(catalog), limits_(limits) {}

  // Analyses the first statement without running it. Gives its statement type and, of a SELECT, the
  // schema.
  StatusOr<QueryOutcome> Analyze(const QueryRequest& request) const;
  // A single query as DuckDB's text, and its schema: for views.
  StatusOr<std::pair<std::string, TableSchema>> TranslateQuery(const QueryRequest& request) const;
  // Runs all statements in order until one fails.
  StatusOr<QueryOutcome> Run(const QueryRequest& request, Cancellation* cancellation) const;

 private:
  // Translates a statement and gives `use` the plan, again when the catalog has changed meanwhile.
  Status WithPlan(const QueryRequest& request, int index,
                  const std::function<Status(const nlohmann::json& plan)>& use) const;
  StatusOr<nlohmann::json> Translate(const QueryRequest& request, int index) const;
  nlohmann::json Resolve(const nlohmann::json& wanted) const;
  nlohmann::json InformationSchema(const nlohmann::json& wanted) const;
  StatusOr<QueryOutcome> RunStatement(const QueryRequest& request, const nlohmann::json& plan,
                                      Cancellation* cancellation) const;
  StatusOr<std::shared_ptr<const RowSet>> Select(const std::string& sql,
                                                 Cancellation* cancellation) const;
  StatusOr<TableSchema> SchemaOf(Connection& connection, const std::string& sql) const;
  // A connection whose temporary table kStagedRows holds what `sql` gives.
  StatusOr<std::unique_ptr<Connection>> Stage(const std::string& sql,
                                              Cancellation* cancellation) const;
  // Runs `sql`, which changes rows, on `staged` (null: the writer's own connection). Returns their
  // number.
  StatusOr<int64_t> Change(const std::string& sql, Connection* staged,
                           Cancellation* cancellation) const;
  Status CreateTable(const nlohmann::json& plan, Cancellation* cancellation,
                     QueryOutcome* outcome) const;
  Status DropTable(const nlohmann::json& plan, QueryOutcome* outcome) const;
  Status AlterTable(const nlohmann::json& plan) const;
  Status AddColumn(const Table& table, const nlohmann::json& action) const;
  Status CreateSchema(const nlohmann::json& plan, QueryOutcome* outcome) const;
  Status DropSchema(const nlohmann::json& plan, QueryOutcome* outcome) const;
  Status WriteDestination(const QueryRequest& request, const std::string& sql,
                          Cancellation* cancellation) const;

  Catalog* const catalog_;
  const Limits limits_;
  mutable std::atomic<int64_t> results_in_use_bytes_{0};
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_QUERY_ENGINE_H_
