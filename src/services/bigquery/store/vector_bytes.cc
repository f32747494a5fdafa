#include "services/bigquery/store/vector_bytes.h"

namespace hornbeam::services::bigquery {
namespace {

// Of one value, without what VariableBytes counts.
int64_t FixedBytes(duckdb_logical_type type) {
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_STRUCT: {
      int64_t bytes = 1;
      for (idx_t i = 0; i < duckdb_struct_type_child_count(type); ++i) {
        const LogicalType child(duckdb_struct_type_child_type(type, i));
        bytes += FixedBytes(child.get());
      }
      return bytes;
    }
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_UTINYINT: return 1;
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DATE: return 4;
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_TIME:
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_TZ: return 8;
    default: return 16;  // text, lists, decimals
  }
}

bool IsSet(uint64_t* validity, idx_t row) {
  return validity == nullptr || duckdb_validity_row_is_valid(validity, row);
}

int64_t TextBytes(duckdb_vector vector, idx_t from, idx_t to) {
  uint64_t* const validity = duckdb_vector_get_validity(vector);
  auto* const texts = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector));
  int64_t bytes = 0;
  for (idx_t row = from; row < to; ++row) {
    if (IsSet(validity, row) && !duckdb_string_is_inlined(texts[row]))
      bytes += duckdb_string_t_length(texts[row]);
  }
  return bytes;
}

int64_t ListBytes(duckdb_vector vector, duckdb_logical_type type, idx_t from, idx_t to) {
  const LogicalType child_type(duckdb_list_type_child_type(type));
  const int64_t each = FixedBytes(child_type.get());
  duckdb_vector child = duckdb_list_vector_get_child(vector);
  uint64_t* const validity = duckdb_vector_get_validity(vector);
  auto* const lists = static_cast<duckdb_list_entry*>(duckdb_vector_get_data(vector));
  int64_t bytes = 0;
  for (idx_t row = from; row < to; ++row) {
    if (!IsSet(validity, row)) continue;
    const duckdb_list_entry list = lists[row];
    bytes += each * static_cast<int64_t>(list.length) +
             VariableBytes(child, list.offset, list.offset + list.length);
  }
  return bytes;
}

}  // namespace

int64_t EmptyChunkBytes(const std::vector<LogicalType>& types, idx_t capacity) {
  int64_t bytes = 0;
  for (const LogicalType& type : types) bytes += FixedBytes(type.get());
  return bytes * static_cast<int64_t>(capacity);
}

int64_t VariableBytes(duckdb_vector vector, idx_t from, idx_t to) {
  const LogicalType type(duckdb_vector_get_column_type(vector));
  switch (duckdb_get_type_id(type.get())) {
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB: return TextBytes(vector, from, to);
    case DUCKDB_TYPE_LIST: return ListBytes(vector, type.get(), from, to);
    case DUCKDB_TYPE_STRUCT: {
      int64_t bytes = 0;
      for (idx_t i = 0; i < duckdb_struct_type_child_count(type.get()); ++i)
        bytes += VariableBytes(duckdb_struct_vector_get_child(vector, i), from, to);
      return bytes;
    }
    default: return 0;
  }
}

}  // namespace hornbeam::services::bigquery
