#include "connectors/bigquery/table_check.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/cloud/bigquery/storage/v1/table.pb.h"

namespace hornbeam::connectors {
namespace {

using google::cloud::bigquery::storage::v1::TableFieldSchema;
using io::ColumnMode;
using io::ColumnType;
using Fields = google::protobuf::RepeatedPtrField<TableFieldSchema>;

std::optional<ColumnType> TypeOf(TableFieldSchema::Type type) {
  switch (type) {
    case TableFieldSchema::STRING: return ColumnType::kString;
    case TableFieldSchema::BYTES: return ColumnType::kBytes;
    case TableFieldSchema::INT64: return ColumnType::kInt64;
    case TableFieldSchema::DOUBLE: return ColumnType::kFloat64;
    case TableFieldSchema::BOOL: return ColumnType::kBool;
    case TableFieldSchema::TIMESTAMP: return ColumnType::kTimestamp;
    case TableFieldSchema::DATE: return ColumnType::kDate;
    case TableFieldSchema::TIME: return ColumnType::kTime;
    case TableFieldSchema::DATETIME: return ColumnType::kDatetime;
    case TableFieldSchema::NUMERIC: return ColumnType::kNumeric;
    case TableFieldSchema::BIGNUMERIC: return ColumnType::kBigNumeric;
    case TableFieldSchema::JSON: return ColumnType::kJson;
    case TableFieldSchema::GEOGRAPHY: return ColumnType::kGeography;
    case TableFieldSchema::STRUCT: return ColumnType::kRecord;
    default: return {};
  }
}

Status CheckFields(const io::RowLayout& rows, const Fields& fields, const std::string& path) {
  for (const io::RowLayout::Column& column : rows.columns()) {
    const std::string full = absl::StrCat(path, column.name);
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) {
      return absl::EqualsIgnoreCase(f.name(), column.name);
    });
    if (field == fields.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the table has no column '", full,
                       "' of the pipeline's schema; add it to the table, or leave it out"));
    }
    const std::optional<ColumnType> type = TypeOf(field->type());
    if (type != column.type) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the column '", full, "' is ",
          type ? io::ToString(*type) : TableFieldSchema::Type_Name(field->type()).c_str(),
          " in the table and ", io::ToString(column.type), " in the pipeline's schema"));
    }
    if ((field->mode() == TableFieldSchema::REPEATED) != (column.mode == ColumnMode::kRepeated)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the column '", full, "' is ", TableFieldSchema::Mode_Name(field->mode()),
          " in the table and ", io::ToString(column.mode), " in the pipeline's schema"));
    }
    if (column.record != nullptr) {
      HB_RETURN_IF_ERROR(CheckFields(*column.record, field->fields(), absl::StrCat(full, ".")));
    }
  }
  for (const TableFieldSchema& field : fields) {
    if (field.mode() == TableFieldSchema::REQUIRED && rows.Find(field.name()) < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the table REQUIRES the column '", path, field.name(),
                       "', which the pipeline's schema does not have"));
    }
  }
  return absl::OkStatus();
}

const io::TableColumn* FindColumn(const io::TableSchema& schema, const std::string& name) {
  for (const io::TableColumn& column : schema.columns) {
    if (absl::EqualsIgnoreCase(column.name, name)) return &column;
  }
  return nullptr;
}

}  // namespace

Status CheckSchema(const io::RowLayout& rows,
                   const google::cloud::bigquery::storage::v1::TableSchema& table) {
  return CheckFields(rows, table.fields(), "");
}

Status CheckWriteOptions(const io::BigQueryWriteOptions& options) {
  HB_RETURN_IF_ERROR(io::TableName::Parse(options.table).status());
  if (options.write_disposition != io::WriteDisposition::kAppend) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", options.table,
                     "': a streaming write can only append; use WRITE_APPEND, and empty the table "
                     "beforehand if it must be empty"));
  }
  if (!options.partition_column.empty()) {
    const io::TableColumn* const column = FindColumn(options.schema, options.partition_column);
    if (column == nullptr ||
        (column->type != ColumnType::kDate && column->type != ColumnType::kTimestamp &&
         column->type != ColumnType::kDatetime)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table '", options.table, "': the partition column '", options.partition_column,
          "' must be a DATE, DATETIME or TIMESTAMP column of the schema"));
    }
  }
  if (options.clustering_columns.size() > 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", options.table, "': BigQuery clusters by four columns at most"));
  }
  for (const std::string& name : options.clustering_columns) {
    if (FindColumn(options.schema, name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table '", options.table, "': the clustering column '", name, "' is not in the schema"));
    }
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::connectors
