// Rows of DuckDB's chunks in the REST API's form: {"f":[{"v":"1"},{"v":null}]}.
#ifndef HORNBEAM_SERVICES_BIGQUERY_STORE_ROW_JSON_H_
#define HORNBEAM_SERVICES_BIGQUERY_STORE_ROW_JSON_H_

#include <duckdb.h>

#include <string>

#include "base/status.h"
#include "services/bigquery/core/schema.h"

namespace hornbeam::services::bigquery {

// The BigQuery column that a DuckDB type stands for; INVALID_ARGUMENT when BigQuery has no such
// type.
StatusOr<Field> FieldOfType(const std::string& name, duckdb_logical_type type);

// "\"text\"" with JSON's escapes.
void AppendJsonString(std::string_view text, std::string* out);

// Appends one row of `chunk`. With `int64_timestamps`, TIMESTAMP is in microseconds, otherwise in
// seconds with a fraction. OUT_OF_RANGE when an integer does not fit into 64 bits.
Status AppendRowJson(duckdb_data_chunk chunk, idx_t row, bool int64_timestamps, std::string* out);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_STORE_ROW_JSON_H_
