#include "services/bigquery/core/row_set.h"

#include <algorithm>
#include <utility>

#include "services/bigquery/core/errors.h"
#include "services/bigquery/store/row_json.h"
#include "services/bigquery/store/vector_bytes.h"

namespace hornbeam::services::bigquery {
namespace {

// 0, 1, 2, ...: which rows of a vector to copy.
class Sequence {
 public:
  explicit Sequence(idx_t size) : selection_(duckdb_create_selection_vector(size)) {
    sel_t* const rows = duckdb_selection_vector_get_data_ptr(selection_);
    for (idx_t i = 0; i < size; ++i) rows[i] = static_cast<sel_t>(i);
  }
  ~Sequence() { duckdb_destroy_selection_vector(selection_); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  duckdb_selection_vector get() const { return selection_; }

 private:
  duckdb_selection_vector selection_;
};

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

RowSetBuilder::RowSetBuilder(TableSchema schema, std::vector<LogicalType> types,
                             const Bounds& bounds)
    : types_(std::move(types)), bounds_(bounds) {
  rows_->schema = std::move(schema);
}

RowSetBuilder::~RowSetBuilder() {
  if (rows_ != nullptr) Release();
}

Status RowSetBuilder::Reserve(int64_t bytes) {
  rows_->bytes += bytes;
  const int64_t in_use =
      bounds_.in_use ? bounds_.in_use->fetch_add(bytes, std::memory_order_relaxed) + bytes : 0;
  if (rows_->bytes > bounds_.most) return ResponseTooLarge();
  if (in_use > bounds_.most_in_use) {
    return ResourcesExceeded("beside the others, whose results fill the memory set aside for them");
  }
  return absl::OkStatus();
}

void RowSetBuilder::Release() {
  if (bounds_.in_use) bounds_.in_use->fetch_sub(rows_->bytes, std::memory_order_relaxed);
}

Status RowSetBuilder::Add(const DataChunk& chunk) {
  const idx_t capacity = duckdb_vector_size();
  const Sequence all(chunk.size());
  for (idx_t done = 0; done < chunk.size();) {
    if (rows_->chunks.empty() || rows_->chunks.back().size() == capacity) {
      std::vector<duckdb_logical_type> types;
      for (const LogicalType& type : types_) types.push_back(type.get());
      rows_->chunks.emplace_back(duckdb_create_data_chunk(types.data(), types.size()));
      HB_RETURN_IF_ERROR(Reserve(EmptyChunkBytes(types_, capacity)));
    }
    DataChunk& last = rows_->chunks.back();
    const idx_t at = last.size();
    const idx_t n = std::min(chunk.size() - done, capacity - at);
    int64_t bytes = 0;
    for (idx_t column = 0; column < types_.size(); ++column) {
      duckdb_vector to = duckdb_data_chunk_get_vector(last.get(), column);
      duckdb_vector_copy_sel(duckdb_data_chunk_get_vector(chunk.get(), column), to, all.get(),
                             done + n, done, at);
      bytes += VariableBytes(to, at, at + n);
    }
    duckdb_data_chunk_set_size(last.get(), at + n);
    rows_->total_rows += static_cast<int64_t>(n);
    done += n;
    HB_RETURN_IF_ERROR(Reserve(bytes));
  }
  return absl::OkStatus();
}

std::shared_ptr<const RowSet> RowSetBuilder::Finish() {
  Release();
  return std::exchange(rows_, nullptr);
}

}  // namespace hornbeam::services::bigquery
