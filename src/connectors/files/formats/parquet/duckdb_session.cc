#include "connectors/files/formats/parquet/duckdb_session.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace hornbeam::connectors {
namespace {

Status Failed(const char* message) {
  return absl::InvalidArgumentError(message == nullptr ? "DuckDB does not say what is wrong"
                                                       : message);
}

}  // namespace

std::string SqlText(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}
std::string SqlName(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

StatusOr<std::unique_ptr<DuckDbSession>> DuckDbSession::Open() {
  std::unique_ptr<DuckDbSession> session(new DuckDbSession);
  if (duckdb_open(nullptr, &session->database_) != DuckDBSuccess ||
      duckdb_connect(session->database_, &session->connection_) != DuckDBSuccess) {
    return absl::ResourceExhaustedError("DuckDB cannot be opened in memory");
  }
  for (const char* const setting :
       {"SET autoinstall_known_extensions = false", "SET autoload_known_extensions = false",
        "SET threads = 1", "SET memory_limit = '512MB'", "SET TimeZone = 'UTC'",
        "SET preserve_insertion_order = true"}) {
    HB_RETURN_IF_ERROR(session->Run(setting));
  }
  return session;
}

DuckDbSession::~DuckDbSession() {
  duckdb_disconnect(&connection_);
  duckdb_close(&database_);
}

Status DuckDbSession::Run(const std::string& sql) {
  duckdb_result result;
  const bool good = duckdb_query(connection_, sql.c_str(), &result) == DuckDBSuccess;
  const Status status = good ? absl::OkStatus() : Failed(duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  return status;
}

StatusOr<std::unique_ptr<DuckDbSession::TextRows>> DuckDbSession::Query(const std::string& sql) {
  duckdb_prepared_statement statement = nullptr;
  Status status;
  std::unique_ptr<TextRows> rows(new TextRows);
  if (duckdb_prepare(connection_, sql.c_str(), &statement) != DuckDBSuccess) {
    status = Failed(duckdb_prepare_error(statement));
  } else {
    // Streaming: the result of a large file must not stand in memory.
    duckdb_pending_result pending = nullptr;
    if (duckdb_pending_prepared_streaming(statement, &pending) != DuckDBSuccess) {
      status = Failed(duckdb_pending_error(pending));
    } else if (duckdb_execute_pending(pending, &rows->result_) != DuckDBSuccess) {
      status = Failed(duckdb_result_error(&rows->result_));
    }
    duckdb_destroy_pending(&pending);
  }
  duckdb_destroy_prepare(&statement);
  if (!status.ok()) return status;
  return rows;
}

StatusOr<std::vector<std::pair<std::string, std::string>>> DuckDbSession::Describe(
    const std::string& query) {
  HB_ASSIGN_OR_RETURN(
      const std::unique_ptr<TextRows> rows,
      Query(
          absl::StrCat("SELECT column_name || chr(0) || column_type FROM (DESCRIBE ", query, ")")));
  std::vector<std::pair<std::string, std::string>> columns;
  std::string text;
  while (true) {
    HB_ASSIGN_OR_RETURN(const bool more, rows->Next(&text));
    if (!more) return columns;
    const size_t end = text.rfind('\0');
    columns.emplace_back(text.substr(0, end), text.substr(end + 1));
  }
}

DuckDbSession::TextRows::~TextRows() {
  if (chunk_ != nullptr) duckdb_destroy_data_chunk(&chunk_);
  duckdb_destroy_result(&result_);
}

StatusOr<bool> DuckDbSession::TextRows::Next(std::string* text) {
  while (chunk_ == nullptr || next_ == duckdb_data_chunk_get_size(chunk_)) {
    if (chunk_ != nullptr) duckdb_destroy_data_chunk(&chunk_);
    chunk_ = duckdb_fetch_chunk(result_);
    next_ = 0;
    if (chunk_ == nullptr) {
      const char* const error = duckdb_result_error(&result_);
      if (error != nullptr && *error != '\0') return Failed(error);
      return false;
    }
  }
  const duckdb_vector column = duckdb_data_chunk_get_vector(chunk_, 0);
  auto* const texts = static_cast<duckdb_string_t*>(duckdb_vector_get_data(column));
  duckdb_string_t& value = texts[next_++];
  text->assign(duckdb_string_t_data(&value), duckdb_string_t_length(value));
  return true;
}

}  // namespace hornbeam::connectors
