// The rows of a result, kept in memory.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_ROW_SET_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_ROW_SET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/bigquery/core/schema.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

// Immutable once it is made; shared between readers.
struct RowSet {
  TableSchema schema;
  std::vector<DataChunk> chunks;
  int64_t total_rows = 0;
  int64_t bytes = 0;  // what the chunks take, about

  // Appends rows [first, first + n) in wire form, separated by commas.
  Status AppendJson(int64_t first, int64_t n, bool int64_timestamps, std::string* out) const;
};

// Gathers rows into full chunks of flat vectors, whatever form they come in, within a bound.
// One thread.
class RowSetBuilder {
 public:
  // `in_use` counts the bytes of all sets that are being built, and outlives the builder (null: not
  // counted): above `most_in_use` of them ResourcesExceeded, above `most` of this one
  // ResponseTooLarge.
  struct Bounds {
    int64_t most = INT64_MAX;
    std::atomic<int64_t>* in_use = nullptr;
    int64_t most_in_use = INT64_MAX;
  };
  RowSetBuilder(TableSchema schema, std::vector<LogicalType> types, const Bounds& bounds);
  ~RowSetBuilder();
  RowSetBuilder(const RowSetBuilder&) = delete;
  RowSetBuilder& operator=(const RowSetBuilder&) = delete;

  Status Add(const DataChunk& chunk);
  // The rows added so far. Call it once.
  std::shared_ptr<const RowSet> Finish();

 private:
  Status Reserve(int64_t bytes);
  void Release();

  const std::vector<LogicalType> types_;
  const Bounds bounds_;
  std::shared_ptr<RowSet> rows_ = std::make_shared<RowSet>();
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_ROW_SET_H_
