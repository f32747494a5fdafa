// A DuckDB of its own, in memory, that reads and writes Parquet files of this machine.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_DUCKDB_SESSION_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_DUCKDB_SESSION_H_

#include <duckdb.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace hornbeam::connectors {

// One thread, at most half a gigabyte, UTC. Not thread-safe.
class DuckDbSession {
 public:
  static StatusOr<std::unique_ptr<DuckDbSession>> Open();
  ~DuckDbSession();
  DuckDbSession(const DuckDbSession&) = delete;

  // The rows of a query, of whose columns the first is text, one at a time.
  class TextRows {
   public:
    ~TextRows();
    TextRows(const TextRows&) = delete;
    // False behind the last.
    StatusOr<bool> Next(std::string* text);

   private:
    friend class DuckDbSession;
    TextRows() = default;
    duckdb_result result_{};
    duckdb_data_chunk chunk_ = nullptr;
    idx_t next_ = 0;
  };

  // INVALID_ARGUMENT with DuckDB's own words.
  Status Run(const std::string& sql);
  StatusOr<std::unique_ptr<TextRows>> Query(const std::string& sql);
  // Name and type of each column that a query would have.
  StatusOr<std::vector<std::pair<std::string, std::string>>> Describe(const std::string& query);

 private:
  DuckDbSession() = default;
  duckdb_database database_ = nullptr;
  duckdb_connection connection_ = nullptr;
};

// In single quotes, as SQL text; in double ones, as a name.
std::string SqlText(const std::string& text);
std::string SqlName(const std::string& name);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_DUCKDB_SESSION_H_
