// A table's columns, as BigQuery describes them.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_SCHEMA_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_SCHEMA_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hornbeam::services::bigquery {

enum class FieldType : uint8_t {
  kString,
  kBytes,
  kInt64,
  kFloat64,
  kBool,
  kNumeric,
  kBigNumeric,
  kTimestamp,
  kDate,
  kTime,
  kDatetime,
  kJson,
  kStruct
};
enum class FieldMode : uint8_t { kNullable, kRequired, kRepeated };

// NUMERIC is exactly DECIMAL(38, 9). BIGNUMERIC has 76 digits on Google; here it is DECIMAL(38,
// 18), and a value that does not fit is refused.
inline constexpr int kNumericScale = 9;
inline constexpr int kBigNumericScale = 18;

struct Field {
  std::string name;
  FieldType type = FieldType::kString;
  FieldMode mode = FieldMode::kNullable;
  std::string description;
  std::vector<Field> fields;  // of a kStruct

  bool operator==(const Field&) const = default;
};

struct TableSchema {
  std::vector<Field> fields;

  // Column names are equal without regard to case. -1: none.
  int Find(std::string_view name) const;
  bool operator==(const TableSchema&) const = default;
};

// {"fields": [...]}. Accepts both spellings of a type (INTEGER and INT64); INVALID_ARGUMENT names
// the field.
StatusOr<TableSchema> SchemaFromJson(const nlohmann::json& json);
// The REST API's spelling: INTEGER, FLOAT, BOOLEAN, RECORD.
nlohmann::json SchemaToJson(const TableSchema& schema);

// "STRING", "INT64": GoogleSQL's spelling of the type alone, without the mode.
const char* GoogleSqlTypeName(FieldType type);
// "ARRAY<STRUCT<a INT64>>".
std::string GoogleSqlType(const Field& field);

// The type of the column in DuckDB: "BIGINT", "STRUCT("a" VARCHAR)[]".
std::string DuckDbType(const Field& field);
// "name" TYPE [NOT NULL], for CREATE TABLE.
std::string DuckDbColumn(const Field& field);

// OK when `next` has every field of `current` with its type, in any order, and besides only fields
// that are NULLABLE or REPEATED; a REQUIRED field may become NULLABLE. Otherwise Google's message
// for a table of that name.
Status CheckSchemaUpdate(const TableSchema& current, const TableSchema& next,
                         std::string_view table);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_SCHEMA_H_
