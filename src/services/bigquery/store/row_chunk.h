// Rows on their way into a table, laid out in DuckDB's own columns as they are decoded.
#ifndef HORNBEAM_SERVICES_BIGQUERY_STORE_ROW_CHUNK_H_
#define HORNBEAM_SERVICES_BIGQUERY_STORE_ROW_CHUNK_H_

#include <duckdb.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "services/bigquery/core/decimal.h"
#include "services/bigquery/core/schema.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

// Why a value was refused, as a static text to put behind the field's name; null when it was taken.
using Refusal = const char*;

// Writes into one column of a chunk (or into the elements of a repeated one, or a field of a
// struct). Every value begins as NULL, every repeated one as an empty list; rows are written in
// ascending order.
class ColumnWriter {
 public:
  ColumnWriter(const Field& field, duckdb_vector vector, idx_t rows);

  const Field& field() const { return *field_; }
  bool repeated() const { return element_ != nullptr; }
  bool IsSet(idx_t row) const { return (validity_[row >> 6] >> (row & 63)) & 1; }

  // REPEATED: adds one element to the list of `row` and returns where to write it in element().
  idx_t Push(idx_t row);
  ColumnWriter& element() { return *element_; }

  // STRUCT: the struct is present; its fields are children()[i], written at the same row.
  void SetPresent(idx_t row) { validity_[row >> 6] |= uint64_t{1} << (row & 63); }
  std::vector<ColumnWriter>& children() { return children_; }

  // The value as DuckDB stores it, of the type that the field has; ranges are the caller's
  // business.
  void SetBool(idx_t row, bool v) { Set(row, v); }
  void SetInt32(idx_t row, int32_t v) { Set(row, v); }
  void SetInt64(idx_t row, int64_t v) { Set(row, v); }
  void SetDouble(idx_t row, double v) { Set(row, v); }
  void SetInt128(idx_t row, Int128 v) { Set(row, v); }
  void SetBytes(idx_t row, std::string_view v);

  // Text as both wires carry it: dates, times and numbers are parsed, STRING is checked to be
  // UTF-8, JSON to be JSON. BYTES are taken as they are.
  Refusal SetText(idx_t row, std::string_view text);

 private:
  template <typename T>
  void Set(idx_t row, T v) {
    static_cast<T*>(data_)[row] = v;
    SetPresent(row);
  }
  // Fetches the vector's pointers anew and makes rows [from, to) NULL.
  void Attach(duckdb_vector vector, idx_t from, idx_t to);

  const Field* field_;
  duckdb_vector vector_ = nullptr;
  void* data_ = nullptr;
  uint64_t* validity_ = nullptr;
  std::vector<ColumnWriter> children_;
  // REPEATED only; the element's Field is the same field, with the mode not looked at.
  std::unique_ptr<ColumnWriter> element_;
  idx_t list_size_ = 0;
  idx_t list_capacity_ = 0;

  struct AsElement {};
  ColumnWriter(AsElement, const Field& field, duckdb_vector vector, idx_t rows);
  void AddChildren(idx_t rows);
};

// Up to RowChunk::Capacity() rows of one table. `schema` and `types` must outlive it.
class RowChunk {
 public:
  RowChunk(const TableSchema& schema, const std::vector<LogicalType>& types, idx_t rows);

  static idx_t Capacity() { return duckdb_vector_size(); }
  std::vector<ColumnWriter>& columns() { return columns_; }
  idx_t rows() const { return rows_; }
  duckdb_data_chunk get() const { return chunk_.get(); }

 private:
  DataChunk chunk_;
  idx_t rows_;
  std::vector<ColumnWriter> columns_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_STORE_ROW_CHUNK_H_
