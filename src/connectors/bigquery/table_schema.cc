#include "hornbeam/io/bigquery_schema.h"

namespace hornbeam::io {

const char* ToString(ColumnType type) {
  switch (type) {
    case ColumnType::kString: return "STRING";
    case ColumnType::kBytes: return "BYTES";
    case ColumnType::kInt64: return "INT64";
    case ColumnType::kFloat64: return "FLOAT64";
    case ColumnType::kBool: return "BOOL";
    case ColumnType::kTimestamp: return "TIMESTAMP";
    case ColumnType::kDate: return "DATE";
    case ColumnType::kTime: return "TIME";
    case ColumnType::kDatetime: return "DATETIME";
    case ColumnType::kNumeric: return "NUMERIC";
    case ColumnType::kBigNumeric: return "BIGNUMERIC";
    case ColumnType::kJson: return "JSON";
    case ColumnType::kGeography: return "GEOGRAPHY";
    case ColumnType::kRecord: return "STRUCT";
  }
  return "?";
}

const char* ToString(ColumnMode mode) {
  switch (mode) {
    case ColumnMode::kNullable: return "NULLABLE";
    case ColumnMode::kRequired: return "REQUIRED";
    case ColumnMode::kRepeated: return "REPEATED";
  }
  return "?";
}

}  // namespace hornbeam::io
