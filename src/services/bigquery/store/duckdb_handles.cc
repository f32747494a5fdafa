#include "services/bigquery/store/duckdb_handles.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

// "Binder Error: text\n\nLINE 1: ..." as "text".
std::string FirstParagraph(absl::string_view message) {
  message = message.substr(0, message.find("\n\nLINE"));
  message = message.substr(0, message.find("\nLINE"));
  const size_t colon = message.find("Error: ");
  if (colon != absl::string_view::npos && colon < 40) message.remove_prefix(colon + 7);
  while (absl::ConsumeSuffix(&message, "\n")) {
  }
  return std::string(message);
}

// The one place where DuckDB tells the kind of an error by its text alone.
Status PrepareError(duckdb_prepared_statement statement) {
  const char* text = duckdb_prepare_error(statement);
  const absl::string_view message = text ? text : "unknown error";
  duckdb_error_type type = DUCKDB_ERROR_BINDER;
  if (absl::StartsWith(message, "Catalog Error")) type = DUCKDB_ERROR_CATALOG;
  if (absl::StartsWith(message, "Out of Memory Error")) type = DUCKDB_ERROR_OUT_OF_MEMORY;
  if (absl::StartsWith(message, "INTERRUPT Error")) type = DUCKDB_ERROR_INTERRUPT;
  return DuckDbError(type, {message.data(), message.size()});
}

Status OpenError(const std::string& path, absl::string_view message) {
  if (absl::StrContains(message, "Could not set lock")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the BigQuery data in '", path,
                     "' is in use by another process; stop it or choose another data directory"));
  }
  if (absl::StrContains(message, "No space left")) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the disk of '", path, "' is full; make room and start again"));
  }
  if (absl::StrContains(message, "Permission denied") ||
      absl::StrContains(message, "Read-only file system")) {
    return absl::PermissionDeniedError(absl::StrCat(
        "'", path, "' cannot be written; change its rights or choose another data directory"));
  }
  return absl::DataLossError(absl::StrCat(
      "the BigQuery database '", path, "' is damaged or of another kind (", FirstParagraph(message),
      "); restore it from a copy, or move it away to start empty"));
}

}  // namespace

Status DuckDbError(duckdb_error_type type, std::string_view raw) {
  const absl::string_view message(raw.data(), raw.size());
  if (absl::StrContains(message, "No space left on device") ||
      absl::StrContains(message, "File too large")) {
    return absl::ResourceExhaustedError(
        "the disk is full; nothing was written. Make room and try again.");
  }
  const std::string text = FirstParagraph(message);
  switch (type) {
    case DUCKDB_ERROR_INTERRUPT: return absl::CancelledError("the query was cancelled");
    case DUCKDB_ERROR_OUT_OF_MEMORY: return ResourcesExceeded("in the allotted memory");
    case DUCKDB_ERROR_CATALOG:
    case DUCKDB_ERROR_TRANSACTION: return absl::AbortedError(text);
    case DUCKDB_ERROR_FATAL:
      return absl::UnavailableError(absl::StrCat(
          "the BigQuery database stopped after a fatal error and must be restarted: ", text));
    case DUCKDB_ERROR_IO:
    case DUCKDB_ERROR_INTERNAL: return absl::InternalError(text);
    case DUCKDB_ERROR_NOT_IMPLEMENTED:
    default: return absl::InvalidArgumentError(text);
  }
}

std::unique_ptr<DataChunk> StatementResult::NextChunk() {
  duckdb_data_chunk chunk = duckdb_fetch_chunk(result_);
  return chunk ? std::make_unique<DataChunk>(chunk) : nullptr;
}

Status StatementResult::error() {
  const char* message = duckdb_result_error(&result_);
  return message ? DuckDbError(duckdb_result_error_type(&result_), message) : absl::OkStatus();
}

StatusOr<std::unique_ptr<DataChunk>> RowStream::Next() {
  std::unique_ptr<DataChunk> chunk = result_.NextChunk();
  if (chunk == nullptr) HB_RETURN_IF_ERROR(result_.error());
  return chunk;
}

std::vector<std::vector<std::string>> StatementResult::AllText() {
  std::vector<std::vector<std::string>> rows(duckdb_row_count(&result_));
  for (idx_t r = 0; r < rows.size(); ++r) {
    for (idx_t c = 0; c < column_count(); ++c) {
      char* text = duckdb_value_varchar(&result_, c, r);
      rows[r].emplace_back(text ? text : "");
      duckdb_free(text);
    }
  }
  return rows;
}

StatusOr<StatementResult> Connection::Query(const std::string& sql) {
  duckdb_result raw;
  const duckdb_state state = duckdb_query(connection_, sql.c_str(), &raw);
  StatementResult result(raw);
  if (state == DuckDBError) {
    HB_RETURN_IF_ERROR(result.error());
    return absl::InternalError("DuckDB gave no reason for a failure");
  }
  return result;
}

StatusOr<RowStream> Connection::Stream(const std::string& sql) {
  duckdb_prepared_statement statement = nullptr;
  duckdb_result raw{};
  Status status;
  if (duckdb_prepare(connection_, sql.c_str(), &statement) == DuckDBError) {
    status = PrepareError(statement);
  } else {
    const duckdb_state state = duckdb_execute_prepared_streaming(statement, &raw);
    if (state == DuckDBError) {
      status = StatementResult(raw).error();
      if (status.ok()) status = absl::InternalError("DuckDB gave no reason for a failure");
    }
  }
  duckdb_destroy_prepare(&statement);
  if (!status.ok()) return status;
  return RowStream(raw);
}

Status Connection::Run(const std::string& sql) { return Query(sql).status(); }

StatusOr<std::vector<std::pair<std::string, LogicalType>>> Connection::Describe(
    const std::string& sql) {
  duckdb_prepared_statement statement = nullptr;
  const duckdb_state state = duckdb_prepare(connection_, sql.c_str(), &statement);
  std::vector<std::pair<std::string, LogicalType>> columns;
  Status status;
  if (state == DuckDBError) {
    status = PrepareError(statement);
  } else {
    const idx_t n = duckdb_prepared_statement_column_count(statement);
    for (idx_t i = 0; i < n; ++i) {
      const char* name = duckdb_prepared_statement_column_name(statement, i);
      columns.emplace_back(
          name, LogicalType(duckdb_prepared_statement_column_logical_type(statement, i)));
      duckdb_free(const_cast<char*>(name));
    }
  }
  duckdb_destroy_prepare(&statement);
  if (!status.ok()) return status;
  return columns;
}

StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                   const Options& options) {
  duckdb_config config = nullptr;
  if (duckdb_create_config(&config) == DuckDBError)
    return absl::InternalError("DuckDB gave no configuration");
  const std::string memory = absl::StrCat(options.memory_bytes, "B");
  const std::string temporary = absl::StrCat(options.temporary_bytes, "B");
  const std::pair<const char*, const char*> settings[] = {
      // Before external access is taken away, and this setting with it.
      {"temp_directory", options.temporary_directory.c_str()},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"allow_community_extensions", "false"},
      // A query reads tables, never files of this machine.
      {"enable_external_access", "false"},
      // A checkpoint rewrites what changed: seldom enough that it does not slow a stream of
      // appends.
      {"checkpoint_threshold", "512MB"},
      {"memory_limit", memory.c_str()},
      {"max_temp_directory_size", temporary.c_str()},
  };
  Status status;
  for (const auto& [name, value] : settings) {
    if (duckdb_set_config(config, name, value) == DuckDBError) {
      status = absl::InternalError(absl::StrCat("DuckDB does not know the setting ", name));
    }
  }
  duckdb_database raw = nullptr;
  char* message = nullptr;
  if (status.ok() && duckdb_open_ext(path.c_str(), &raw, config, &message) == DuckDBError) {
    status = OpenError(path, message ? message : "");
  }
  duckdb_free(message);
  duckdb_destroy_config(&config);
  HB_RETURN_IF_ERROR(status);
  // The file is ours alone now, and with it what an earlier process has left.
  if (!options.temporary_directory.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(options.temporary_directory, ignored);
  }
  const bool in_memory = path == ":memory:";
  std::unique_ptr<Database> database(
      new Database(raw, DurableNames(in_memory ? std::vector<std::string>()
                                               : std::vector<std::string>{path, path + ".wal"})));
  HB_ASSIGN_OR_RETURN(auto connection, database->Connect());
  HB_RETURN_IF_ERROR(
      connection->Run("SET GLOBAL TimeZone = 'UTC'; SET GLOBAL lock_configuration = true"));
  return database;
}

StatusOr<std::unique_ptr<Connection>> Database::Connect() {
  duckdb_connection raw = nullptr;
  if (duckdb_connect(database_, &raw) == DuckDBError) {
    return absl::UnavailableError("the BigQuery database takes no more connections");
  }
  return std::make_unique<Connection>(raw);
}

}  // namespace hornbeam::services::bigquery
