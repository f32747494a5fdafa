// Owners of DuckDB's C handles, and the one place where its errors become Status.
#ifndef HORNBEAM_SERVICES_BIGQUERY_STORE_DUCKDB_HANDLES_H_
#define HORNBEAM_SERVICES_BIGQUERY_STORE_DUCKDB_HANDLES_H_

#include <duckdb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "services/bigquery/store/durable_names.h"

namespace hornbeam::services::bigquery {

// A duckdb_logical_type. Shared freely between threads.
class LogicalType {
 public:
  explicit LogicalType(duckdb_logical_type type) : type_(type) {}
  ~LogicalType() { duckdb_destroy_logical_type(&type_); }
  LogicalType(LogicalType&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {}
  LogicalType& operator=(LogicalType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  duckdb_logical_type get() const { return type_; }

 private:
  duckdb_logical_type type_;
};

// A duckdb_data_chunk.
class DataChunk {
 public:
  explicit DataChunk(duckdb_data_chunk chunk) : chunk_(chunk) {}
  ~DataChunk() { duckdb_destroy_data_chunk(&chunk_); }
  DataChunk(DataChunk&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  DataChunk& operator=(DataChunk&& other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  duckdb_data_chunk get() const { return chunk_; }
  idx_t size() const { return duckdb_data_chunk_get_size(chunk_); }

 private:
  duckdb_data_chunk chunk_;
};

// What a statement gave, whole in memory.
class StatementResult {
 public:
  explicit StatementResult(duckdb_result result) : result_(result) {}
  ~StatementResult() { duckdb_destroy_result(&result_); }
  StatementResult(StatementResult&& other) noexcept
      : result_(std::exchange(other.result_, duckdb_result{})) {}
  StatementResult(const StatementResult&) = delete;

  idx_t column_count() { return duckdb_column_count(&result_); }
  std::string ColumnName(idx_t column) { return duckdb_column_name(&result_, column); }
  LogicalType ColumnType(idx_t column) {
    return LogicalType(duckdb_column_logical_type(&result_, column));
  }
  // Rows that an INSERT, UPDATE or DELETE touched.
  int64_t rows_changed() { return static_cast<int64_t>(duckdb_rows_changed(&result_)); }
  // The next chunk of rows; null at the end.
  std::unique_ptr<DataChunk> NextChunk();
  // Why there was no next chunk, when it was not the end.
  Status error();
  // All rows as text, for small internal queries.
  std::vector<std::vector<std::string>> AllText();

 private:
  duckdb_result result_;
};

// The rows of a SELECT as they are made: no more than a few chunks are in memory at once. Ends
// before its connection.
class RowStream {
 public:
  explicit RowStream(duckdb_result result) : result_(result) {}

  idx_t column_count() { return result_.column_count(); }
  std::string ColumnName(idx_t column) { return result_.ColumnName(column); }
  LogicalType ColumnType(idx_t column) { return result_.ColumnType(column); }
  // The next rows; null at the end. Their vectors may be of any form, as DuckDB made them.
  StatusOr<std::unique_ptr<DataChunk>> Next();

 private:
  StatementResult result_;
};

// A session. One thread at a time, except Interrupt.
class Connection {
 public:
  explicit Connection(duckdb_connection connection) : connection_(connection) {}
  ~Connection() { duckdb_disconnect(&connection_); }
  Connection(const Connection&) = delete;

  duckdb_connection get() const { return connection_; }
  // Runs one or more statements. The result is the last one's.
  StatusOr<StatementResult> Query(const std::string& sql);
  Status Run(const std::string& sql);
  // Runs one SELECT as far as its first rows.
  StatusOr<RowStream> Stream(const std::string& sql);
  // Binds without running: the names and types of what one statement would give.
  StatusOr<std::vector<std::pair<std::string, LogicalType>>> Describe(const std::string& sql);
  // Makes what runs now fail with CANCELLED; a statement that begins after it does not notice. Any
  // thread.
  void Interrupt() { duckdb_interrupt(connection_); }

 private:
  duckdb_connection connection_;
};

// The file. Thread-safe. Outlives its connections.
class Database {
 public:
  struct Options {
    // For what queries hold in memory altogether; what is above it goes to the temporary directory
    // or fails with resourcesExceeded. DuckDB does not count what single values take: the macros of
    // googlesql/macros.h bound them.
    int64_t memory_bytes = int64_t{1} << 30;
    int64_t temporary_bytes = int64_t{16} << 30;
    // Emptied at opening, made when it is needed. Empty: nothing goes to disk.
    std::string temporary_directory;
  };
  // Creates the file when it is missing. FAILED_PRECONDITION when another process has it open,
  // DATA_LOSS when it is damaged; the message names the file.
  static StatusOr<std::unique_ptr<Database>> Open(const std::string& path, const Options& options);
  ~Database() { duckdb_close(&database_); }
  Database(const Database&) = delete;

  StatusOr<std::unique_ptr<Connection>> Connect();

  // After a commit, which has synced what it wrote, and by one thread at a time: makes the names of
  // the files durable that hold it. After an error the commit may not be confirmed.
  Status SyncNames() { return names_.Sync(); }

 private:
  Database(duckdb_database database, DurableNames names)
      : database_(database), names_(std::move(names)) {}
  duckdb_database database_;
  DurableNames names_;
};

// `message` is DuckDB's. A full disk or memory is RESOURCE_EXHAUSTED (the latter with BigQuery's
// reason resourcesExceeded); an interrupt CANCELLED; something that is not in the catalog, perhaps
// no longer, ABORTED; what else the statement's author can mend INVALID_ARGUMENT; a fatal error,
// after which the database must be reopened, UNAVAILABLE.
Status DuckDbError(duckdb_error_type type, std::string_view message);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_STORE_DUCKDB_HANDLES_H_
