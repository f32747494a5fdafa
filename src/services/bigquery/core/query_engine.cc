#include "services/bigquery/core/query_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/core/errors.h"
#include "services/bigquery/googlesql/translator.h"
#include "services/bigquery/store/row_json.h"

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;

TableName TableOf(const json& parts) { return {parts.at(0), parts.at(1), parts.at(2)}; }

json ErrorJson(const Status& status) {
  const GoogleError error = ToGoogleError(status);
  return {{"error", {{"reason", error.reason}, {"message", error.message}}}};
}

// A failure of DuckDB while it bound or ran a query, in BigQuery's terms: the author's mistake is
// an invalidQuery.
Status QueryError(const Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return status;
  const GoogleError error = ToGoogleError(status);
  if (error.reason != "invalid") return status;
  absl::string_view message = status.message();
  // Referenced column "x" not found in FROM clause! ...
  constexpr absl::string_view kColumn = "Referenced column \"";
  if (absl::StartsWith(message, kColumn)) {
    message.remove_prefix(kColumn.size());
    return InvalidQuery(absl::StrCat("Unrecognized name: ", message.substr(0, message.find('"'))));
  }
  return InvalidQuery({message.data(), message.size()});
}

Status Cancelled() {
  return absl::CancelledError("Job execution was cancelled: User requested cancellation");
}

}  // namespace

Status RowSet::AppendJson(int64_t first, int64_t n, bool int64_timestamps, std::string* out) const {
  int64_t start = 0;
  bool comma = false;
  for (const DataChunk& chunk : chunks) {
    const auto size = static_cast<int64_t>(chunk.size());
    for (int64_t row = std::max<int64_t>(0, first - start); row < size && start + row < first + n;
         ++row) {
      if (comma) *out += ',';
      comma = true;
      HB_RETURN_IF_ERROR(
          AppendRowJson(chunk.get(), static_cast<idx_t>(row), int64_timestamps, out));
    }
    start += size;
    if (start >= first + n) break;
  }
  return absl::OkStatus();
}

void Cancellation::Cancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  if (connection_) connection_->Interrupt();
}

bool Cancellation::cancelled() const {
  MutexLock lock(&mutex_);
  return cancelled_;
}

Cancellation::Scope::Scope(Cancellation* cancellation, Connection* connection)
    : cancellation_(cancellation) {
  MutexLock lock(&cancellation_->mutex_);
  cancellation_->connection_ = connection;
}

Cancellation::Scope::~Scope() {
  MutexLock lock(&cancellation_->mutex_);
  cancellation_->connection_ = nullptr;
}

json QueryEngine::InformationSchema(const json& wanted) const {
  const std::string view = wanted.at("information_schema");
  const std::string project = wanted.at("project");
  const auto columns = [](std::initializer_list<std::pair<const char*, const char*>> list) {
    json made = json::array();
    for (const auto& [name, type] : list) made.push_back({{"name", name}, {"type", type}});
    return made;
  };
  json rows = json::array();
  if (view == "SCHEMATA") {
    for (const Dataset& dataset : catalog_->ListDatasets(project)) {
      rows.push_back({project, dataset.name.dataset, nullptr, "US"});
    }
    return {{"columns", columns({{"catalog_name", "STRING"},
                                 {"schema_name", "STRING"},
                                 {"schema_owner", "STRING"},
                                 {"location", "STRING"}})},
            {"rows", rows}};
  }
  if (view != "TABLES" && view != "COLUMNS" && view != "VIEWS" && view != "TABLE_OPTIONS") {
    return ErrorJson(InvalidQuery(
        absl::StrCat("INFORMATION_SCHEMA.", view, " is not supported by this local BigQuery")));
  }
  std::vector<DatasetName> datasets;
  if (wanted.at("dataset").is_null()) {
    for (const Dataset& dataset : catalog_->ListDatasets(project)) datasets.push_back(dataset.name);
  } else {
    const DatasetName name{project, wanted.at("dataset")};
    if (!catalog_->GetDataset(name).ok()) return ErrorJson(QueryDatasetNotFound(name));
    datasets.push_back(name);
  }
  for (const DatasetName& dataset : datasets) {
    for (const auto& table : catalog_->ListTables(dataset)) {
      const TableName& name = table->name;
      if (view == "TABLES") {
        std::string created;
        rows.push_back({name.project, name.dataset, name.table,
                        table->is_view() ? "VIEW" : "BASE TABLE", table->is_view() ? "NO" : "YES",
                        "NO"});
      } else if (view == "VIEWS") {
        if (!table->is_view()) continue;
        rows.push_back({name.project, name.dataset, name.table,
                        table->properties["view"].value("query", ""), "YES"});
      } else if (view == "TABLE_OPTIONS") {
        const auto add = [&](const char* option, const char* type, const std::string& value) {
          rows.push_back({name.project, name.dataset, name.table, option, type, value});
        };
        const json& p = table->properties;
        if (p.contains("description")) add("description", "STRING", p["description"].dump());
        if (p.contains("friendlyName")) add("friendly_name", "STRING", p["friendlyName"].dump());
        if (p.contains("requirePartitionFilter"))
          add("require_partition_filter", "BOOL", p["requirePartitionFilter"].dump());
      } else {
        const std::string partitioned =
            table->properties.contains("timePartitioning")
                ? table->properties["timePartitioning"].value("field", "")
                : "";
        int64_t position = 0;
        for (const Field& field : table->schema.fields) {
          json clustering;
          if (const auto it = table->properties.find("clustering"); it != table->properties.end()) {
            int64_t at = 0;
            for (const json& column : (*it)["fields"]) {
              ++at;
              if (column.is_string() &&
                  absl::EqualsIgnoreCase(column.get<std::string>(), field.name)) {
                clustering = std::to_string(at);
              }
            }
          }
          rows.push_back(
              {name.project, name.dataset, name.table, field.name, std::to_string(++position),
               field.mode == FieldMode::kRequired ? "NO" : "YES", GoogleSqlType(field), "NEVER",
               nullptr, "NO", "NO", absl::EqualsIgnoreCase(partitioned, field.name) ? "YES" : "NO",
               clustering});
        }
      }
    }
  }
  if (view == "TABLES") {
    return {{"columns", columns({{"table_catalog", "STRING"},
                                 {"table_schema", "STRING"},
                                 {"table_name", "STRING"},
                                 {"table_type", "STRING"},
                                 {"is_insertable_into", "STRING"},
                                 {"is_typed", "STRING"}})},
            {"rows", rows}};
  }
  if (view == "VIEWS") {
    return {{"columns", columns({{"table_catalog", "STRING"},
                                 {"table_schema", "STRING"},
                                 {"table_name", "STRING"},
                                 {"view_definition", "STRING"},
                                 {"use_standard_sql", "STRING"}})},
            {"rows", rows}};
  }
  if (view == "TABLE_OPTIONS") {
    return {{"columns", columns({{"table_catalog", "STRING"},
                                 {"table_schema", "STRING"},
                                 {"table_name", "STRING"},
                                 {"option_name", "STRING"},
                                 {"option_type", "STRING"},
                                 {"option_value", "STRING"}})},
            {"rows", rows}};
  }
  return {{"columns", columns({{"table_catalog", "STRING"},
                               {"table_schema", "STRING"},
                               {"table_name", "STRING"},
                               {"column_name", "STRING"},
                               {"ordinal_position", "INT64"},
                               {"is_nullable", "STRING"},
                               {"data_type", "STRING"},
                               {"is_generated", "STRING"},
                               {"generation_expression", "STRING"},
                               {"is_hidden", "STRING"},
                               {"is_system_defined", "STRING"},
                               {"is_partitioning_column", "STRING"},
                               {"clustering_ordinal_position", "INT64"}})},
          {"rows", rows}};
}

json QueryEngine::Resolve(const json& wanted) const {
  if (wanted.contains("information_schema")) return InformationSchema(wanted);
  const TableName name{wanted.at("project"), wanted.at("dataset"), wanted.at("table")};
  const auto table = catalog_->GetTable(name);
  if (!table.ok()) {
    return ErrorJson(catalog_->GetDataset(name.dataset_name()).ok()
                         ? QueryTableNotFound(name)
                         : QueryDatasetNotFound(name.dataset_name()));
  }
  if ((*table)->schema.fields.empty()) {
    return ErrorJson(
        InvalidQuery(absl::StrCat("Table ", name.ToString(), " does not have a schema.")));
  }
  return {{"schema", PhysicalSchema(name.dataset_name())}, {"table", PhysicalName(name.table)}};
}

StatusOr<json> QueryEngine::Translate(const QueryRequest& request, int index) const {
  json context = {{"project", request.project}, {"parameters", request.parameters}};
  if (request.default_dataset) {
    context["default_dataset"] = {{"project", request.default_dataset->project},
                                  {"dataset", request.default_dataset->dataset}};
  }
  return TranslateGoogleSql(request.sql, index, context,
                            [this](const json& wanted) { return Resolve(wanted); });
}

StatusOr<TableSchema> QueryEngine::SchemaOf(Connection& connection, const std::string& sql) const {
  auto columns = connection.Describe(sql);
  if (!columns.ok()) return QueryError(columns.status());
  TableSchema schema;
  for (const auto& [name, type] : *columns) {
    HB_ASSIGN_OR_RETURN(Field field, FieldOfType(name, type.get()));
    if (schema.Find(field.name) >= 0) {
      return InvalidQuery(
          "Duplicate column names in the result are not supported when a destination table is "
          "present. "
          "Found duplicate(s): " +
          field.name);
    }
    schema.fields.push_back(std::move(field));
  }
  return schema;
}

StatusOr<QueryOutcome> QueryEngine::Analyze(const QueryRequest& request) const {
  HB_ASSIGN_OR_RETURN(const json plan, Translate(request, 0));
  QueryOutcome outcome;
  outcome.statements = plan.value("count", 1);
  outcome.statement_type = outcome.statements > 1 ? "SCRIPT" : plan.value("kind", "");
  for (const json& name : plan.value("referenced", json::array()))
    outcome.referenced.push_back(TableOf(name));
  HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
  if (outcome.statement_type == "SELECT") {
    auto rows = std::make_shared<RowSet>();
    HB_ASSIGN_OR_RETURN(rows->schema, SchemaOf(*connection, plan.at("sql")));
    outcome.rows = std::move(rows);
  } else if (const auto sql = plan.find("sql"); sql != plan.end()) {
    const auto described = connection->Describe(*sql);
    if (!described.ok()) return QueryError(described.status());
  }
  return outcome;
}

StatusOr<std::pair<std::string, TableSchema>> QueryEngine::TranslateQuery(
    const QueryRequest& request) const {
  HB_ASSIGN_OR_RETURN(const json plan, Translate(request, 0));
  if (plan.value("kind", "") != "SELECT" || plan.value("count", 1) != 1) {
    return InvalidQuery("The query of a view must be a single SELECT.");
  }
  HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
  std::pair<std::string, TableSchema> made;
  made.first = plan.at("sql");
  HB_ASSIGN_OR_RETURN(made.second, SchemaOf(*connection, made.first));
  return made;
}

StatusOr<QueryOutcome> QueryEngine::Run(const QueryRequest& request,
                                        Cancellation* cancellation) const {
  int count = 1;
  QueryOutcome last;
  for (int i = 0; i < count; ++i) {
    if (cancellation->cancelled()) return Cancelled();
    HB_ASSIGN_OR_RETURN(const json plan, Translate(request, i));
    count = plan.value("count", 1);
    auto outcome = RunStatement(request, plan, cancellation);
    if (!outcome.ok()) return QueryError(outcome.status());
    last = *std::move(outcome);
  }
  last.statements = count;
  if (count > 1) {
    last.statement_type = "SCRIPT";
    // Only a query gives a script rows; the schema that a CREATE answers with is its own.
    if (last.ddl_target) last.rows.reset();
  }
  return last;
}

StatusOr<std::shared_ptr<const RowSet>> QueryEngine::Select(Connection& connection,
                                                            const std::string& sql,
                                                            Cancellation* cancellation) const {
  Cancellation::Scope scope(cancellation, &connection);
  if (cancellation->cancelled()) return Cancelled();  // while it was translated
  auto rows = std::make_shared<RowSet>();
  HB_ASSIGN_OR_RETURN(auto result, connection.Query(sql));
  for (idx_t i = 0; i < result.column_count(); ++i) {
    HB_ASSIGN_OR_RETURN(Field field, FieldOfType(result.ColumnName(i), result.ColumnType(i).get()));
    if (rows->schema.Find(field.name) >= 0) {
      return InvalidQuery(absl::StrCat(
          "Duplicate column names in the result are not supported. Found duplicate(s): ",
          field.name));
    }
    rows->schema.fields.push_back(std::move(field));
  }
  while (auto chunk = result.NextChunk()) {
    rows->total_rows += static_cast<int64_t>(chunk->size());
    rows->chunks.push_back(std::move(*chunk));
  }
  return std::shared_ptr<const RowSet>(rows);
}

Status QueryEngine::WriteDestination(const QueryRequest& request, const std::string& sql) const {
  const TableName& name = *request.destination;
  const auto existing = catalog_->GetTable(name);
  if (!existing.ok() || request.write_disposition == "WRITE_TRUNCATE") {
    HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
    Catalog::NewTable table;
    table.name = name;
    HB_ASSIGN_OR_RETURN(table.schema, SchemaOf(*connection, sql));
    table.replace = true;
    if (existing.ok()) table.properties = (*existing)->properties;
    table.as_query = sql;
    return catalog_->CreateTable(std::move(table)).status();
  }
  return catalog_->WriteTransaction([&](Connection& connection) -> Status {
    if (request.write_disposition == "WRITE_EMPTY") {
      HB_ASSIGN_OR_RETURN(auto count,
                          connection.Query("SELECT count(*) FROM " + PhysicalTable(name)));
      if (count.AllText()[0][0] != "0") return TableExists(name);
    }
    return connection.Run(absl::StrCat("INSERT INTO ", PhysicalTable(name), " BY NAME ", sql));
  });
}

Status QueryEngine::CreateTable(const json& plan, QueryOutcome* outcome) const {
  const TableName name = TableOf(plan.at("target"));
  outcome->ddl_target = name;
  const bool exists = catalog_->GetTable(name).ok();
  const bool replace = plan.value("replace", false);
  if (exists && plan.value("if_not_exists", false)) {
    outcome->ddl_operation = "SKIP";
    return absl::OkStatus();
  }
  outcome->ddl_operation = exists && replace ? "REPLACE" : "CREATE";
  Catalog::NewTable table;
  table.name = name;
  table.replace = replace;
  table.properties = plan.value("properties", json::object());
  table.as_query = plan.value("as_sql", "");
  if (plan.contains("schema")) {
    HB_ASSIGN_OR_RETURN(table.schema, SchemaFromJson(plan.at("schema")));
  } else {
    HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
    HB_ASSIGN_OR_RETURN(table.schema, SchemaOf(*connection, table.as_query));
  }
  if (!catalog_->GetDataset(name.dataset_name()).ok())
    return QueryDatasetNotFound(name.dataset_name());
  return catalog_->CreateTable(std::move(table)).status();
}

Status QueryEngine::AlterTable(const json& plan) const {
  const TableName name = TableOf(plan.at("target"));
  for (const json& action : plan.at("actions")) {
    const auto table = catalog_->GetTable(name);
    if (!table.ok())
      return plan.value("if_exists", false) ? absl::OkStatus() : QueryTableNotFound(name);
    if (action.contains("add")) {
      HB_ASSIGN_OR_RETURN(const TableSchema added,
                          SchemaFromJson({{"fields", {action.at("add")}}}));
      TableSchema next = (*table)->schema;
      if (next.Find(added.fields[0].name) >= 0) {
        if (action.value("if_not_exists", false)) continue;
        return InvalidQuery(absl::StrCat("Column already exists: ", added.fields[0].name));
      }
      next.fields.push_back(added.fields[0]);
      HB_RETURN_IF_ERROR(catalog_->UpdateTable(name, &next, (*table)->properties).status());
    } else {
      const std::string column = action.at("drop");
      if ((*table)->schema.Find(column) < 0 && action.value("if_exists", false)) continue;
      HB_RETURN_IF_ERROR(catalog_->DropColumn(name, column));
    }
  }
  return absl::OkStatus();
}

StatusOr<QueryOutcome> QueryEngine::RunStatement(const QueryRequest& request, const json& plan,
                                                 Cancellation* cancellation) const {
  QueryOutcome outcome;
  const std::string kind = plan.at("kind");
  outcome.statement_type = kind;
  for (const json& name : plan.value("referenced", json::array()))
    outcome.referenced.push_back(TableOf(name));
  if (kind == "SELECT") {
    HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
    HB_ASSIGN_OR_RETURN(outcome.rows, Select(*connection, plan.at("sql"), cancellation));
    if (request.destination) HB_RETURN_IF_ERROR(WriteDestination(request, plan.at("sql")));
  } else if (plan.contains("sql")) {  // INSERT, UPDATE, DELETE, MERGE, TRUNCATE_TABLE
    HB_RETURN_IF_ERROR(catalog_->WriteTransaction([&](Connection& connection) -> Status {
      Cancellation::Scope scope(cancellation, &connection);
      if (cancellation->cancelled()) return Cancelled();  // while it waited for its turn
      HB_ASSIGN_OR_RETURN(auto result, connection.Query(plan.at("sql")));
      outcome.affected_rows = result.rows_changed();
      return absl::OkStatus();
    }));
  } else if (kind == "CREATE_TABLE" || kind == "CREATE_VIEW" || kind == "CREATE_TABLE_AS_SELECT") {
    HB_RETURN_IF_ERROR(CreateTable(plan, &outcome));
    if (const auto table = catalog_->GetTable(*outcome.ddl_target); table.ok()) {
      // The answer to a CREATE is its schema, without rows.
      auto rows = std::make_shared<RowSet>();
      rows->schema = (*table)->schema;
      outcome.rows = std::move(rows);
    }
  } else if (kind == "DROP_TABLE" || kind == "DROP_VIEW") {
    const TableName name = TableOf(plan.at("target"));
    outcome.ddl_target = name;
    const auto table = catalog_->GetTable(name);
    if (!table.ok() && !plan.value("if_exists", false)) return QueryTableNotFound(name);
    outcome.ddl_operation = table.ok() ? "DROP" : "SKIP";
    if (table.ok() && (*table)->is_view() != (kind == "DROP_VIEW")) {
      return InvalidQuery(absl::StrCat("Cannot drop ", name.ToString(), " which has type ",
                                       (*table)->is_view() ? "VIEW" : "TABLE", ". Use DROP ",
                                       (*table)->is_view() ? "VIEW" : "TABLE", " instead."));
    }
    if (table.ok()) HB_RETURN_IF_ERROR(catalog_->DeleteTable(name));
  } else if (kind == "ALTER_TABLE") {
    outcome.ddl_target = TableOf(plan.at("target"));
    outcome.ddl_operation = "ALTER";
    HB_RETURN_IF_ERROR(AlterTable(plan));
  } else if (kind == "CREATE_SCHEMA") {
    const DatasetName name{plan.at("dataset").at(0), plan.at("dataset").at(1)};
    const bool exists = catalog_->GetDataset(name).ok();
    outcome.ddl_operation = exists ? "SKIP" : "CREATE";
    if (exists && !plan.value("if_not_exists", false)) return DatasetExists(name);
    if (!exists)
      HB_RETURN_IF_ERROR(
          catalog_->CreateDataset(name, plan.value("properties", json::object())).status());
  } else if (kind == "DROP_SCHEMA") {
    const DatasetName name{plan.at("dataset").at(0), plan.at("dataset").at(1)};
    const bool exists = catalog_->GetDataset(name).ok();
    outcome.ddl_operation = exists ? "DROP" : "SKIP";
    if (!exists && !plan.value("if_exists", false)) return QueryDatasetNotFound(name);
    if (exists) HB_RETURN_IF_ERROR(catalog_->DeleteDataset(name, plan.value("cascade", false)));
  } else {
    return InvalidQuery(absl::StrCat(kind, " statements are not supported by this local BigQuery"));
  }
  return outcome;
}

}  // namespace hornbeam::services::bigquery
