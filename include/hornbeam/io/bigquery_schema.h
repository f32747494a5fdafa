// A BigQuery table's columns, as a pipeline names them.
#ifndef HORNBEAM_IO_BIGQUERY_SCHEMA_H_
#define HORNBEAM_IO_BIGQUERY_SCHEMA_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hornbeam::io {

enum class ColumnType : uint8_t {
  kString,
  kBytes,
  kInt64,
  kFloat64,
  kBool,
  kTimestamp,
  kDate,
  kTime,
  kDatetime,
  kNumeric,
  kBigNumeric,
  kJson,
  kGeography,
  kRecord,
};

enum class ColumnMode : uint8_t { kNullable, kRequired, kRepeated };

struct TableColumn {
  std::string name;
  ColumnType type = ColumnType::kString;
  ColumnMode mode = ColumnMode::kNullable;
  std::vector<TableColumn> columns = {};  // of a kRecord
};

struct TableSchema {
  std::vector<TableColumn> columns;
};

// GoogleSQL's spelling ("INT64", "STRUCT") and the mode's ("REQUIRED").
const char* ToString(ColumnType type);
const char* ToString(ColumnMode mode);

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_BIGQUERY_SCHEMA_H_
