#include "services/bigquery/core/catalog.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/bigquery/core/errors.h"
#include "services/bigquery/googlesql/macros.h"

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;

constexpr char kFormatVersion[] = "1";

constexpr char kCreateCatalog[] = R"sql(
CREATE SCHEMA hornbeam;
CREATE TABLE hornbeam.format (version VARCHAR);
INSERT INTO hornbeam.format VALUES ('1');
CREATE TABLE hornbeam.datasets (project VARCHAR, dataset VARCHAR, resource VARCHAR);
CREATE TABLE hornbeam.tables (project VARCHAR, dataset VARCHAR, table_id VARCHAR, resource VARCHAR);
CREATE TABLE hornbeam.streams (id BIGINT, name VARCHAR, project VARCHAR, dataset VARCHAR, table_id VARCHAR,
                               next_offset BIGINT, finalized BOOLEAN, created_us BIGINT);
)sql";

int64_t ToInt(const std::string& text) {
  int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? value : 0;
}

std::string WhereTable(const TableName& name) {
  return absl::StrCat(" WHERE project = ", QuoteLiteral(name.project),
                      " AND dataset = ", QuoteLiteral(name.dataset),
                      " AND table_id = ", QuoteLiteral(name.table));
}

std::string WhereDataset(const DatasetName& name) {
  return absl::StrCat(" WHERE project = ", QuoteLiteral(name.project),
                      " AND dataset = ", QuoteLiteral(name.dataset));
}

// A stored resource is our own writing: one that does not parse is damage.
StatusOr<json> ParseStored(const std::string& text) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    return absl::DataLossError(
        "the BigQuery catalog holds a resource that is not JSON; restore the data directory");
  }
  return parsed;
}

std::string ToText(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool SameTypes(const std::vector<Field>& a, const std::vector<Field>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!absl::EqualsIgnoreCase(a[i].name, b[i].name) || !SameTypes(a[i].fields, b[i].fields))
      return false;
  }
  return true;
}

}  // namespace

StatusOr<std::unique_ptr<Catalog>> Catalog::Open(Database* database, Clock* clock) {
  std::unique_ptr<Catalog> catalog(new Catalog(database, clock));
  HB_RETURN_IF_ERROR(catalog->Load());
  return catalog;
}

Status Catalog::Load() {
  HB_ASSIGN_OR_RETURN(writer_, database_->Connect());
  return WriteTransaction([this](Connection& connection) -> Status {
    HB_ASSIGN_OR_RETURN(
        auto schemas,
        connection.Query("SELECT schema_name FROM duckdb_schemas() WHERE database_name = "
                         "current_database() AND schema_name = 'hornbeam'"));
    if (schemas.AllText().empty()) {
      HB_RETURN_IF_ERROR(connection.Run(kCreateCatalog));
      return connection.Run(kGoogleSqlMacros);
    }
    HB_ASSIGN_OR_RETURN(auto version, connection.Query("SELECT version FROM hornbeam.format"));
    const auto versions = version.AllText();
    if (versions.size() != 1 || versions[0][0] != kFormatVersion) {
      return absl::FailedPreconditionError(
          "the BigQuery data directory was written by another version of this program; use that "
          "version");
    }
    HB_RETURN_IF_ERROR(connection.Run(kGoogleSqlMacros));
    HB_ASSIGN_OR_RETURN(
        auto datasets,
        connection.Query("SELECT project, dataset, resource FROM hornbeam.datasets"));
    for (const auto& row : datasets.AllText()) {
      HB_ASSIGN_OR_RETURN(const json resource, ParseStored(row[2]));
      Dataset dataset{{row[0], row[1]},
                      resource.value("properties", json::object()),
                      resource.value("created", int64_t{0}),
                      resource.value("modified", int64_t{0})};
      MutexLock lock(&mutex_);
      datasets_[dataset.name] = std::move(dataset);
    }
    HB_ASSIGN_OR_RETURN(
        auto tables,
        connection.Query("SELECT project, dataset, table_id, resource FROM hornbeam.tables"));
    for (const auto& row : tables.AllText()) {
      HB_ASSIGN_OR_RETURN(const json resource, ParseStored(row[3]));
      auto table = std::make_shared<Table>();
      table->name = {row[0], row[1], row[2]};
      HB_ASSIGN_OR_RETURN(table->schema, SchemaFromJson(resource.value("schema", json::object())));
      table->properties = resource.value("properties", json::object());
      table->created_ms = resource.value("created", int64_t{0});
      table->modified_ms = resource.value("modified", int64_t{0});
      HB_RETURN_IF_ERROR(Finish(connection, table.get()));
      Show(std::move(table));
    }
    HB_ASSIGN_OR_RETURN(
        auto streams, connection.Query("SELECT id, name, project, dataset, table_id, next_offset, "
                                       "finalized, created_us FROM hornbeam.streams"));
    for (const auto& row : streams.AllText()) {
      WriteStream stream{ToInt(row[0]), row[1],           {row[2], row[3], row[4]},
                         ToInt(row[5]), row[6] == "true", ToInt(row[7])};
      MutexLock lock(&mutex_);
      next_stream_id_ = std::max(next_stream_id_, stream.id + 1);
      streams_[stream.name] = std::move(stream);
    }
    return absl::OkStatus();
  });
}

Status Catalog::WriteTransaction(const std::function<Status(Connection&)>& body,
                                 const std::function<void()>& committed, const Write& write) {
  HB_RETURN_IF_ERROR(turn_.Take(write.cancellation));
  const auto give_back = absl::MakeCleanup([this] { turn_.GiveBack(); });
  Connection& connection = write.connection ? *write.connection : *writer_;
  HB_RETURN_IF_ERROR(connection.Run("BEGIN TRANSACTION"));
  Status status;
  {
    Cancellation::Scope scope(write.cancellation, [&] { connection.Interrupt(); });
    status = body(connection);
  }
  // What is cancelled from here on is done all the same: a commit may not be cut short.
  if (status.ok() && write.cancellation != nullptr) status = write.cancellation->status();
  if (status.ok()) {
    MutexLock lock(&show_mutex_);
    status = connection.Run("COMMIT");
    if (status.ok() && committed) committed();
  }
  // After a failed commit there may be nothing left to roll back; that is as it should be.
  if (!status.ok()) {
    connection.Run("ROLLBACK").IgnoreError();
    return status;
  }
  return database_->SyncNames();
}

void Catalog::AwaitShown() { MutexLock lock(&show_mutex_); }

Status Catalog::Store(Connection& connection, const Dataset& dataset) const {
  const json resource = {{"properties", dataset.properties},
                         {"created", dataset.created_ms},
                         {"modified", dataset.modified_ms}};
  return connection.Run(absl::StrCat(
      "DELETE FROM hornbeam.datasets", WhereDataset(dataset.name),
      "; INSERT INTO hornbeam.datasets VALUES (", QuoteLiteral(dataset.name.project), ", ",
      QuoteLiteral(dataset.name.dataset), ", ", QuoteLiteral(ToText(resource)), ")"));
}

Status Catalog::Store(Connection& connection, const Table& table) const {
  const json resource = {{"schema", SchemaToJson(table.schema)},
                         {"properties", table.properties},
                         {"created", table.created_ms},
                         {"modified", table.modified_ms}};
  return connection.Run(
      absl::StrCat("DELETE FROM hornbeam.tables", WhereTable(table.name),
                   "; INSERT INTO hornbeam.tables VALUES (", QuoteLiteral(table.name.project), ", ",
                   QuoteLiteral(table.name.dataset), ", ", QuoteLiteral(table.name.table), ", ",
                   QuoteLiteral(ToText(resource)), ")"));
}

Status Catalog::Forget(Connection& connection, const TableName& name) const {
  const std::string where = WhereTable(name);
  return connection.Run(
      absl::StrCat("DELETE FROM hornbeam.tables", where, "; DELETE FROM hornbeam.streams", where));
}

Status Catalog::Finish(Connection& connection, Table* table) {
  table->generation = next_generation_.fetch_add(1);
  table->types.clear();
  if (table->is_view() || table->schema.fields.empty()) return absl::OkStatus();
  HB_ASSIGN_OR_RETURN(auto columns,
                      connection.Describe("SELECT * FROM " + PhysicalTable(table->name)));
  if (columns.size() != table->schema.fields.size()) {
    return absl::DataLossError(absl::StrCat("the table ", table->name.ToString(),
                                            " and its schema have a different number of columns"));
  }
  for (auto& [name, type] : columns) table->types.push_back(std::move(type));
  return absl::OkStatus();
}

void Catalog::Show(std::shared_ptr<const Table> table) {
  MutexLock lock(&mutex_);
  tables_[table->name] = table;
  version_.fetch_add(1);
}

void Catalog::Hide(const TableName& name) {
  MutexLock lock(&mutex_);
  version_.fetch_add(1);
  tables_.erase(name);
  std::erase_if(streams_, [&](const auto& entry) { return entry.second.table == name; });
}

StatusOr<Dataset> Catalog::CreateDataset(const DatasetName& name, json properties) {
  HB_RETURN_IF_ERROR(CheckDatasetId(name.dataset));
  Dataset dataset{name, std::move(properties), NowMs(), NowMs()};
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        if (GetDataset(name).ok()) return DatasetExists(name);
        HB_RETURN_IF_ERROR(
            connection.Run("CREATE SCHEMA " + QuoteIdentifier(PhysicalSchema(name))));
        return Store(connection, dataset);
      },
      [&] {
        MutexLock lock(&mutex_);
        datasets_[name] = dataset;
        version_.fetch_add(1);
      }));
  return dataset;
}

StatusOr<Dataset> Catalog::GetDataset(const DatasetName& name) const {
  MutexLock lock(&mutex_);
  const auto it = datasets_.find(name);
  if (it == datasets_.end()) return DatasetNotFound(name);
  return it->second;
}

std::vector<Dataset> Catalog::ListDatasets(std::string_view project) const {
  MutexLock lock(&mutex_);
  std::vector<Dataset> found;
  for (const auto& [name, dataset] : datasets_) {
    if (name.project == project) found.push_back(dataset);
  }
  return found;
}

StatusOr<Dataset> Catalog::SetDatasetProperties(const DatasetName& name, json properties) {
  Dataset dataset;
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(dataset, GetDataset(name));
        dataset.properties = std::move(properties);
        dataset.modified_ms = NowMs();
        return Store(connection, dataset);
      },
      [&] {
        MutexLock lock(&mutex_);
        datasets_[name] = dataset;
        version_.fetch_add(1);
      }));
  return dataset;
}

Status Catalog::DeleteDataset(const DatasetName& name, bool delete_contents) {
  std::vector<std::shared_ptr<const Table>> tables;
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_RETURN_IF_ERROR(GetDataset(name).status());
        tables = ListTables(name);
        if (!tables.empty() && !delete_contents) {
          return WithReason(absl::InvalidArgumentError(
                                absl::StrCat("Dataset ", name.ToString(), " is still in use")),
                            "resourceInUse");
        }
        const std::string where = WhereDataset(name);
        return connection.Run(absl::StrCat("DROP SCHEMA ", QuoteIdentifier(PhysicalSchema(name)),
                                           " CASCADE; DELETE FROM hornbeam.datasets", where,
                                           "; DELETE FROM hornbeam.tables", where,
                                           "; DELETE FROM hornbeam.streams", where));
      },
      [&] {
        for (const auto& table : tables) Hide(table->name);
        MutexLock lock(&mutex_);
        datasets_.erase(name);
        version_.fetch_add(1);
      }));
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<const Table>> Catalog::CreateTable(NewTable request, const Write& write) {
  HB_RETURN_IF_ERROR(CheckTableId(request.name.table));
  auto table = std::make_shared<Table>();
  table->name = request.name;
  table->schema = std::move(request.schema);
  table->properties = std::move(request.properties);
  table->created_ms = table->modified_ms = NowMs();
  const std::string physical = PhysicalTable(table->name);
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_RETURN_IF_ERROR(GetDataset(table->name.dataset_name()).status());
        const auto existing = GetTable(table->name);
        if (existing.ok() && !request.replace) return TableExists(table->name);
        // With the first rows from a query that may read the table to be replaced, the new one is
        // filled under another name.
        const std::string made =
            absl::StrCat(QuoteIdentifier(PhysicalSchema(table->name.dataset_name())), ".",
                         QuoteIdentifier("~new"));
        if (table->is_view()) {
          if (existing.ok()) {
            HB_RETURN_IF_ERROR(connection.Run(
                absl::StrCat("DROP ", (*existing)->is_view() ? "VIEW " : "TABLE ", physical)));
            HB_RETURN_IF_ERROR(Forget(connection, table->name));
          }
          HB_RETURN_IF_ERROR(
              connection.Run(absl::StrCat("CREATE VIEW ", physical, " AS ", request.as_query)));
        } else {
          // DuckDB has no table without columns; one without a schema gets a column that nobody
          // sees until it has one.
          std::vector<std::string> columns;
          for (const Field& field : table->schema.fields) columns.push_back(DuckDbColumn(field));
          if (columns.empty()) columns.push_back("\"~none\" BOOLEAN");
          HB_RETURN_IF_ERROR(connection.Run(
              absl::StrCat("CREATE TABLE ", made, " (", absl::StrJoin(columns, ", "), ")")));
          if (!request.as_query.empty()) {
            HB_RETURN_IF_ERROR(
                connection.Run(absl::StrCat("INSERT INTO ", made, " ", request.as_query)));
          }
          if (existing.ok()) {
            HB_RETURN_IF_ERROR(connection.Run(
                absl::StrCat("DROP ", (*existing)->is_view() ? "VIEW " : "TABLE ", physical)));
            HB_RETURN_IF_ERROR(Forget(connection, table->name));
          }
          HB_RETURN_IF_ERROR(
              connection.Run(absl::StrCat("ALTER TABLE ", made, " RENAME TO ",
                                          QuoteIdentifier(PhysicalName(table->name.table)))));
        }
        HB_RETURN_IF_ERROR(Finish(connection, table.get()));
        return Store(connection, *table);
      },
      [&] {
        Hide(table->name);
        Show(table);
      },
      write));
  return std::shared_ptr<const Table>(table);
}

StatusOr<std::shared_ptr<const Table>> Catalog::GetTable(const TableName& name) const {
  MutexLock lock(&mutex_);
  const auto it = tables_.find(name);
  if (it != tables_.end()) return it->second;
  if (!datasets_.contains(name.dataset_name())) return DatasetNotFound(name.dataset_name());
  return TableNotFound(name);
}

std::vector<std::shared_ptr<const Table>> Catalog::ListTables(const DatasetName& name) const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const Table>> found;
  for (auto it = tables_.lower_bound({name.project, name.dataset, ""});
       it != tables_.end() && it->first.dataset_name() == name; ++it) {
    found.push_back(it->second);
  }
  return found;
}

StatusOr<std::shared_ptr<const Table>> Catalog::UpdateTable(const Table& expected,
                                                            const TableSchema* schema,
                                                            json properties) {
  auto table = std::make_shared<Table>();
  const TableName& name = expected.name;
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(const auto current, GetTable(name));
        if (current->generation != expected.generation) {
          return absl::AbortedError(absl::StrCat("the table ", name.ToString(),
                                                 " has been changed by somebody else; try again"));
        }
        table->name = name;
        table->schema = current->schema;
        table->properties = std::move(properties);
        table->created_ms = current->created_ms;
        table->modified_ms = NowMs();
        if (schema && !current->is_view()) {
          HB_RETURN_IF_ERROR(CheckSchemaUpdate(current->schema, *schema, name.ToString()));
          const std::string alter = absl::StrCat("ALTER TABLE ", PhysicalTable(name), " ");
          // The order of the columns is the table's; new ones come last.
          TableSchema next;
          for (const Field& old : current->schema.fields) {
            const Field& now = schema->fields[static_cast<size_t>(schema->Find(old.name))];
            if (!SameTypes(old.fields, now.fields)) {
              return Invalid(absl::StrCat(
                  "Field ", old.name,
                  ": adding fields to a RECORD is not supported by this local BigQuery; add a "
                  "column, or create the table anew."));
            }
            if (old.mode == FieldMode::kRequired && now.mode == FieldMode::kNullable) {
              HB_RETURN_IF_ERROR(connection.Run(absl::StrCat(
                  alter, "ALTER COLUMN ", QuoteIdentifier(old.name), " DROP NOT NULL")));
            }
            next.fields.push_back(now);
          }
          for (const Field& now : schema->fields) {
            if (current->schema.Find(now.name) >= 0) continue;
            // Rows from before have an empty list, as on Google.
            HB_RETURN_IF_ERROR(connection.Run(
                absl::StrCat(alter, "ADD COLUMN ", DuckDbColumn(now),
                             now.mode == FieldMode::kRepeated ? " DEFAULT []" : "")));
            next.fields.push_back(now);
          }
          if (current->schema.fields.empty() && !next.fields.empty()) {
            HB_RETURN_IF_ERROR(connection.Run(absl::StrCat(alter, "DROP COLUMN \"~none\"")));
          }
          table->schema = std::move(next);
        } else if (schema) {
          table->schema = *schema;
        }
        HB_RETURN_IF_ERROR(Finish(connection, table.get()));
        return Store(connection, *table);
      },
      [&] { Show(table); }));
  return std::shared_ptr<const Table>(table);
}

Status Catalog::DropColumn(const TableName& name, const std::string& column) {
  auto table = std::make_shared<Table>();
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(const auto current, GetTable(name));
        table->name = name;
        table->schema = current->schema;
        table->properties = current->properties;
        table->created_ms = current->created_ms;
        table->modified_ms = NowMs();
        const int at = table->schema.Find(column);
        if (at < 0) return InvalidQuery(absl::StrCat("Column not found: ", column));
        table->schema.fields.erase(table->schema.fields.begin() + at);
        if (table->schema.fields.empty())
          return InvalidQuery("Cannot drop the only column of a table");
        HB_RETURN_IF_ERROR(connection.Run(absl::StrCat("ALTER TABLE ", PhysicalTable(name),
                                                       " DROP COLUMN ", QuoteIdentifier(column))));
        HB_RETURN_IF_ERROR(Finish(connection, table.get()));
        return Store(connection, *table);
      },
      [&] { Show(table); }));
  return absl::OkStatus();
}

Status Catalog::DeleteTable(const TableName& name) {
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(const auto table, GetTable(name));
        HB_RETURN_IF_ERROR(connection.Run(
            absl::StrCat("DROP ", table->is_view() ? "VIEW " : "TABLE ", PhysicalTable(name))));
        return Forget(connection, name);
      },
      [&] { Hide(name); }));
  return absl::OkStatus();
}

StatusOr<WriteStream> Catalog::CreateStream(const TableName& table) {
  WriteStream stream;
  stream.table = table;
  stream.created_us = clock_->NowMicros();
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(const auto found, GetTable(table));
        if (found->is_view())
          return Invalid(
              absl::StrCat(table.ToString(), " is a view; rows cannot be written to it."));
        {
          MutexLock lock(&mutex_);
          stream.id = next_stream_id_++;
        }
        stream.name =
            absl::StrCat(table.ResourceName(), "/streams/s", stream.id, "_", stream.created_us);
        return connection.Run(absl::StrCat(
            "INSERT INTO hornbeam.streams VALUES (", stream.id, ", ", QuoteLiteral(stream.name),
            ", ", QuoteLiteral(table.project), ", ", QuoteLiteral(table.dataset), ", ",
            QuoteLiteral(table.table), ", 0, false, ", stream.created_us, ")"));
      },
      [&] {
        MutexLock lock(&mutex_);
        streams_[stream.name] = stream;
      }));
  return stream;
}

StatusOr<WriteStream> Catalog::GetStream(const std::string& name) const {
  MutexLock lock(&mutex_);
  const auto it = streams_.find(name);
  if (it == streams_.end())
    return absl::NotFoundError(absl::StrCat("Requested entity was not found. Entity: ", name));
  return it->second;
}

StatusOr<WriteStream> Catalog::FinalizeStream(const std::string& name) {
  WriteStream stream;
  HB_RETURN_IF_ERROR(WriteTransaction(
      [&](Connection& connection) -> Status {
        HB_ASSIGN_OR_RETURN(stream, GetStream(name));
        if (stream.finalized) return absl::OkStatus();
        stream.finalized = true;
        HB_RETURN_IF_ERROR(connection.Run(
            absl::StrCat("UPDATE hornbeam.streams SET finalized = true WHERE id = ", stream.id)));
        return absl::OkStatus();
      },
      [&] {
        MutexLock lock(&mutex_);
        const auto it = streams_.find(name);
        if (it != streams_.end()) it->second.finalized = true;
      }));
  return stream;
}

Status Catalog::StoreOffsets(Connection& connection,
                             const std::map<std::string, int64_t>& next_offsets) const {
  if (next_offsets.empty()) return absl::OkStatus();
  std::string values;
  {
    MutexLock lock(&mutex_);
    for (const auto& [name, next] : next_offsets) {
      absl::StrAppend(&values, values.empty() ? "(" : ", (", streams_.at(name).id, ", ", next, ")");
    }
  }
  return connection.Run(
      absl::StrCat("UPDATE hornbeam.streams SET next_offset = v.next FROM (VALUES ", values,
                   ") v(id, next) WHERE streams.id = v.id"));
}

void Catalog::ShowOffsets(const std::map<std::string, int64_t>& next_offsets) {
  MutexLock lock(&mutex_);
  for (const auto& [name, next] : next_offsets) {
    const auto it = streams_.find(name);
    if (it != streams_.end()) it->second.next_offset = next;
  }
}

}  // namespace hornbeam::services::bigquery
