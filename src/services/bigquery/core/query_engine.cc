#include "services/bigquery/core/query_engine.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/core/errors.h"
#include "services/bigquery/googlesql/translator.h"
#include "services/bigquery/store/row_json.h"

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;

// The temporary table, of its own connection, in which rows wait to be written: a query runs into
// it beside everything else, and the writer's turn is needed only to copy what it gave. The
// translator knows the name too.
constexpr char kStagedRows[] = "~staged";

TableName TableOf(const json& parts) { return {parts.at(0), parts.at(1), parts.at(2)}; }

json ErrorJson(const Status& status) {
  const GoogleError error = ToGoogleError(status);
  return {{"error", {{"reason", error.reason}, {"message", error.message}}}};
}

// A failure of DuckDB while it bound or ran a query, in BigQuery's terms: the author's mistake is
// an invalidQuery.
Status QueryError(const Status& status) {
  const bool is_missing = absl::IsAborted(status);
  if (!is_missing && !absl::IsInvalidArgument(status)) return status;
  if (!is_missing && ToGoogleError(status).reason != "invalid") return status;
  absl::string_view message = status.message();
  // Referenced column "x" not found in FROM clause! ...
  constexpr absl::string_view kColumn = "Referenced column \"";
  if (absl::StartsWith(message, kColumn)) {
    message.remove_prefix(kColumn.size());
    return InvalidQuery(absl::StrCat("Unrecognized name: ", message.substr(0, message.find('"'))));
  }
  return InvalidQuery({message.data(), message.size()});
}

}  // namespace

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
  HB_RETURN_IF_ERROR(columns.status());
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

Status QueryEngine::WithPlan(const QueryRequest& request, int index,
                             const std::function<Status(const json& plan)>& use) const {
  constexpr int kMostTries = 20;
  for (int tries = 1;; ++tries) {
    const uint64_t version = catalog_->version();
    HB_ASSIGN_OR_RETURN(const json plan, Translate(request, index));
    const Status status = use(plan);
    if (!absl::IsAborted(status) || tries == kMostTries) return QueryError(status);
    // A name that was there when it was translated need not be when it is used.
    catalog_->AwaitShown();
    if (catalog_->version() == version) return QueryError(status);
  }
}

StatusOr<QueryOutcome> QueryEngine::Analyze(const QueryRequest& request) const {
  QueryOutcome outcome;
  HB_RETURN_IF_ERROR(WithPlan(request, 0, [&](const json& plan) -> Status {
    outcome = {};
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
      return connection->Describe(*sql).status();
    }
    return absl::OkStatus();
  }));
  return outcome;
}

StatusOr<std::pair<std::string, TableSchema>> QueryEngine::TranslateQuery(
    const QueryRequest& request) const {
  std::pair<std::string, TableSchema> made;
  HB_RETURN_IF_ERROR(WithPlan(request, 0, [&](const json& plan) -> Status {
    if (plan.value("kind", "") != "SELECT" || plan.value("count", 1) != 1) {
      return InvalidQuery("The query of a view must be a single SELECT.");
    }
    HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
    made.first = plan.at("sql");
    HB_ASSIGN_OR_RETURN(made.second, SchemaOf(*connection, made.first));
    return absl::OkStatus();
  }));
  return made;
}

StatusOr<QueryOutcome> QueryEngine::Run(const QueryRequest& request,
                                        Cancellation* cancellation) const {
  int count = 1;
  QueryOutcome last;
  for (int i = 0; i < count; ++i) {
    const Status status = WithPlan(request, i, [&](const json& plan) -> Status {
      HB_RETURN_IF_ERROR(cancellation->status());
      count = plan.value("count", 1);
      HB_ASSIGN_OR_RETURN(last, RunStatement(request, plan, cancellation));
      return absl::OkStatus();
    });
    // Why it was stopped says more than that it was.
    if (!status.ok()) return cancellation->cancelled() ? cancellation->status() : status;
  }
  last.statements = count;
  if (count > 1) {
    last.statement_type = "SCRIPT";
    // Only a query gives a script rows; the schema that a CREATE answers with is its own.
    if (last.ddl_target) last.rows.reset();
  }
  return last;
}

StatusOr<std::shared_ptr<const RowSet>> QueryEngine::Select(const std::string& sql,
                                                            Cancellation* cancellation) const {
  HB_ASSIGN_OR_RETURN(const auto connection, catalog_->database().Connect());
  Cancellation::Scope scope(cancellation, [&] { connection->Interrupt(); });
  HB_ASSIGN_OR_RETURN(RowStream stream, connection->Stream(sql));
  TableSchema schema;
  std::vector<LogicalType> types;
  for (idx_t i = 0; i < stream.column_count(); ++i) {
    types.push_back(stream.ColumnType(i));
    HB_ASSIGN_OR_RETURN(Field field, FieldOfType(stream.ColumnName(i), types.back().get()));
    if (schema.Find(field.name) >= 0) {
      return InvalidQuery(absl::StrCat(
          "Duplicate column names in the result are not supported. Found duplicate(s): ",
          field.name));
    }
    schema.fields.push_back(std::move(field));
  }
  RowSetBuilder rows(std::move(schema), std::move(types),
                     {.most = limits_.result_bytes,
                      .in_use = &results_in_use_bytes_,
                      .most_in_use = limits_.results_in_use_bytes});
  for (;;) {
    HB_RETURN_IF_ERROR(cancellation->status());
    HB_ASSIGN_OR_RETURN(const auto chunk, stream.Next());
    if (chunk == nullptr) return rows.Finish();
    HB_RETURN_IF_ERROR(rows.Add(*chunk));
  }
}

StatusOr<std::unique_ptr<Connection>> QueryEngine::Stage(const std::string& sql,
                                                         Cancellation* cancellation) const {
  HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
  Cancellation::Scope scope(cancellation, [&] { connection->Interrupt(); });
  HB_RETURN_IF_ERROR(cancellation->status());
  HB_RETURN_IF_ERROR(
      connection->Run(absl::StrCat("CREATE TEMP TABLE \"", kStagedRows, "\" AS ", sql)));
  return connection;
}

StatusOr<int64_t> QueryEngine::Change(const std::string& sql, Connection* staged,
                                      Cancellation* cancellation) const {
  int64_t changed = 0;
  HB_RETURN_IF_ERROR(catalog_->WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(auto result, connection.Query(sql));
        changed = result.rows_changed();
        return absl::OkStatus();
      },
      nullptr, {.connection = staged, .cancellation = cancellation}));
  return changed;
}

Status QueryEngine::WriteDestination(const QueryRequest& request, const std::string& sql,
                                     Cancellation* cancellation) const {
  const TableName& name = *request.destination;
  TableSchema schema;
  {
    HB_ASSIGN_OR_RETURN(const auto connection, catalog_->database().Connect());
    HB_ASSIGN_OR_RETURN(schema, SchemaOf(*connection, sql));
  }
  HB_ASSIGN_OR_RETURN(const auto staged, Stage(sql, cancellation));
  const std::string rows = absl::StrCat("SELECT * FROM temp.main.\"", kStagedRows, "\"");
  const auto existing = catalog_->GetTable(name);
  if (!existing.ok() || request.write_disposition == "WRITE_TRUNCATE") {
    Catalog::NewTable table;
    table.name = name;
    table.schema = std::move(schema);
    table.replace = request.write_disposition == "WRITE_TRUNCATE";
    if (existing.ok()) table.properties = (*existing)->properties;
    table.as_query = rows;
    return catalog_->CreateTable(std::move(table), {staged.get(), cancellation}).status();
  }
  return catalog_->WriteTransaction(
      [&](Connection& connection) -> Status {
        if (request.write_disposition == "WRITE_EMPTY") {
          HB_ASSIGN_OR_RETURN(auto count,
                              connection.Query("SELECT count(*) FROM " + PhysicalTable(name)));
          if (count.AllText()[0][0] != "0") return TableExists(name);
        }
        return connection.Run(absl::StrCat("INSERT INTO ", PhysicalTable(name), " BY NAME ", rows));
      },
      nullptr, {.connection = staged.get(), .cancellation = cancellation});
}

Status QueryEngine::CreateTable(const json& plan, Cancellation* cancellation,
                                QueryOutcome* outcome) const {
  const TableName name = TableOf(plan.at("target"));
  outcome->ddl_target = name;
  const bool exists = catalog_->GetTable(name).ok();
  const bool replace = plan.value("replace", false);
  const bool if_not_exists = plan.value("if_not_exists", false);
  outcome->ddl_operation = "SKIP";
  if (exists && if_not_exists) return absl::OkStatus();
  if (exists && !replace) return TableExists(name);
  Catalog::NewTable table;
  table.name = name;
  table.replace = replace;
  table.properties = plan.value("properties", json::object());
  table.as_query = plan.value("as_sql", "");
  if (!catalog_->GetDataset(name.dataset_name()).ok())
    return QueryDatasetNotFound(name.dataset_name());
  if (plan.contains("schema")) {
    HB_ASSIGN_OR_RETURN(table.schema, SchemaFromJson(plan.at("schema")));
  } else {
    HB_ASSIGN_OR_RETURN(auto connection, catalog_->database().Connect());
    HB_ASSIGN_OR_RETURN(table.schema, SchemaOf(*connection, table.as_query));
  }
  std::unique_ptr<Connection> staged;
  if (!table.as_query.empty() && !table.is_view()) {
    HB_ASSIGN_OR_RETURN(staged, Stage(table.as_query, cancellation));
    table.as_query = absl::StrCat("SELECT * FROM temp.main.\"", kStagedRows, "\"");
  }
  const Status made =
      catalog_->CreateTable(std::move(table), {staged.get(), cancellation}).status();
  if (absl::IsAlreadyExists(made) && if_not_exists) return absl::OkStatus();  // just now
  outcome->ddl_operation = exists && replace ? "REPLACE" : "CREATE";
  return made;
}

Status QueryEngine::DropTable(const json& plan, QueryOutcome* outcome) const {
  const TableName name = TableOf(plan.at("target"));
  const bool if_exists = plan.value("if_exists", false);
  const bool drop_view = plan.at("kind") == "DROP_VIEW";
  outcome->ddl_target = name;
  outcome->ddl_operation = "SKIP";
  const auto table = catalog_->GetTable(name);
  if (!table.ok()) return if_exists ? absl::OkStatus() : QueryTableNotFound(name);
  if ((*table)->is_view() != drop_view) {
    return InvalidQuery(absl::StrCat("Cannot drop ", name.ToString(), " which has type ",
                                     drop_view ? "TABLE" : "VIEW", ". Use DROP ",
                                     drop_view ? "TABLE" : "VIEW", " instead."));
  }
  const Status dropped = catalog_->DeleteTable(name);
  if (absl::IsNotFound(dropped)) return if_exists ? absl::OkStatus() : QueryTableNotFound(name);
  outcome->ddl_operation = "DROP";
  return dropped;
}

Status QueryEngine::CreateSchema(const json& plan, QueryOutcome* outcome) const {
  const DatasetName name{plan.at("dataset").at(0), plan.at("dataset").at(1)};
  const Status made =
      catalog_->CreateDataset(name, plan.value("properties", json::object())).status();
  const bool skip = absl::IsAlreadyExists(made) && plan.value("if_not_exists", false);
  outcome->ddl_operation = skip ? "SKIP" : "CREATE";
  return skip ? absl::OkStatus() : made;
}

Status QueryEngine::DropSchema(const json& plan, QueryOutcome* outcome) const {
  const DatasetName name{plan.at("dataset").at(0), plan.at("dataset").at(1)};
  const Status dropped = catalog_->DeleteDataset(name, plan.value("cascade", false));
  const bool skip = absl::IsNotFound(dropped) && plan.value("if_exists", false);
  outcome->ddl_operation = skip ? "SKIP" : "DROP";
  if (skip) return absl::OkStatus();
  return absl::IsNotFound(dropped) ? QueryDatasetNotFound(name) : dropped;
}

Status QueryEngine::AddColumn(const Table& table, const json& action) const {
  HB_ASSIGN_OR_RETURN(const TableSchema added, SchemaFromJson({{"fields", {action.at("add")}}}));
  TableSchema next = table.schema;
  if (next.Find(added.fields[0].name) >= 0) {
    if (action.value("if_not_exists", false)) return absl::OkStatus();
    return InvalidQuery(absl::StrCat("Column already exists: ", added.fields[0].name));
  }
  next.fields.push_back(added.fields[0]);
  return catalog_->UpdateTable(table, &next, table.properties).status();
}

Status QueryEngine::AlterTable(const json& plan) const {
  const TableName name = TableOf(plan.at("target"));
  for (const json& action : plan.at("actions")) {
    Status done;
    do {  // again when somebody else has altered it meanwhile
      const auto table = catalog_->GetTable(name);
      if (!table.ok())
        return plan.value("if_exists", false) ? absl::OkStatus() : QueryTableNotFound(name);
      if (action.contains("add")) {
        done = AddColumn(**table, action);
      } else {
        const std::string column = action.at("drop");
        if ((*table)->schema.Find(column) < 0 && action.value("if_exists", false)) break;
        done = catalog_->DropColumn(name, column);
      }
    } while (absl::IsAborted(done));
    HB_RETURN_IF_ERROR(done);
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
  if (kind == "SELECT" && request.destination) {
    HB_RETURN_IF_ERROR(WriteDestination(request, plan.at("sql"), cancellation));
    outcome.destination = request.destination;
  } else if (kind == "SELECT") {
    HB_ASSIGN_OR_RETURN(outcome.rows, Select(plan.at("sql"), cancellation));
  } else if (plan.contains("sql")) {  // INSERT, UPDATE, DELETE, MERGE, TRUNCATE_TABLE
    std::unique_ptr<Connection> staged;
    if (plan.contains("staged_sql")) {
      HB_ASSIGN_OR_RETURN(staged, Stage(plan.at("staged_sql"), cancellation));
    }
    HB_ASSIGN_OR_RETURN(outcome.affected_rows,
                        Change(plan.value("run_sql", plan.at("sql").get<std::string>()),
                               staged.get(), cancellation));
  } else if (kind == "CREATE_TABLE" || kind == "CREATE_VIEW" || kind == "CREATE_TABLE_AS_SELECT") {
    HB_RETURN_IF_ERROR(CreateTable(plan, cancellation, &outcome));
    if (const auto table = catalog_->GetTable(*outcome.ddl_target); table.ok()) {
      // The answer to a CREATE is its schema, without rows.
      auto rows = std::make_shared<RowSet>();
      rows->schema = (*table)->schema;
      outcome.rows = std::move(rows);
    }
  } else if (kind == "DROP_TABLE" || kind == "DROP_VIEW") {
    HB_RETURN_IF_ERROR(DropTable(plan, &outcome));
  } else if (kind == "ALTER_TABLE") {
    outcome.ddl_target = TableOf(plan.at("target"));
    outcome.ddl_operation = "ALTER";
    HB_RETURN_IF_ERROR(AlterTable(plan));
  } else if (kind == "CREATE_SCHEMA") {
    HB_RETURN_IF_ERROR(CreateSchema(plan, &outcome));
  } else if (kind == "DROP_SCHEMA") {
    HB_RETURN_IF_ERROR(DropSchema(plan, &outcome));
  } else {
    return InvalidQuery(absl::StrCat(kind, " statements are not supported by this local BigQuery"));
  }
  return outcome;
}

}  // namespace hornbeam::services::bigquery
