// How much memory DuckDB's vectors take, about.
#ifndef HORNBEAM_SERVICES_BIGQUERY_STORE_VECTOR_BYTES_H_
#define HORNBEAM_SERVICES_BIGQUERY_STORE_VECTOR_BYTES_H_

#include <duckdb.h>

#include <cstdint>
#include <vector>

#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {

// Of a chunk of such columns before it has rows.
int64_t EmptyChunkBytes(const std::vector<LogicalType>& types, idx_t capacity);

// Of what rows [from, to) of a flat vector hold beyond that: text, and the elements of lists.
int64_t VariableBytes(duckdb_vector vector, idx_t from, idx_t to);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_STORE_VECTOR_BYTES_H_
