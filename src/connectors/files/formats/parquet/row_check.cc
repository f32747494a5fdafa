#include "connectors/files/formats/parquet/row_check.h"

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "connectors/files/formats/avro/avro_logical.h"

namespace hornbeam::connectors {
namespace {

using io::ColumnMode;
using io::ColumnType;
using io::Json;
using io::TableColumn;

constexpr int kNumericScale = 9;  // of BigQuery's NUMERIC
constexpr size_t kShownChars = 100;

Status Misfit(const TableColumn& column, const Json& value) {
  return absl::InvalidArgumentError(absl::StrCat(
      "column '", column.name, "' is ", ToString(column.type), " and cannot hold ",
      value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, kShownChars)));
}

bool IsUtf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

// "2013-01-01 05:00:00", with a 'T' or a space, with a fraction or not.
bool IsDatetime(std::string text) {
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  return ParseTimestamp(text + "Z").has_value();
}

// "05:00:00", with a fraction or not.
bool IsTime(const std::string& text) {
  return ParseTimestamp("2000-01-01T" + text + "Z").has_value();
}

bool FitsText(ColumnType type, const std::string& text) {
  std::string unused;
  switch (type) {
    case ColumnType::kString:
    case ColumnType::kJson: return IsUtf8(text);
    case ColumnType::kBytes: return absl::Base64Unescape(text, &unused);
    case ColumnType::kTimestamp: return ParseTimestamp(text).has_value();
    case ColumnType::kDate: return ParseDate(text).has_value();
    case ColumnType::kTime: return IsTime(text);
    case ColumnType::kDatetime: return IsDatetime(text);
    case ColumnType::kNumeric: return ParseDecimal(text, kNumericScale).has_value();
    default: return false;
  }
}

bool Fits(ColumnType type, const Json& value) {
  switch (type) {
    case ColumnType::kInt64:
      return value.is_number_integer() &&
             !(value.is_number_unsigned() &&
               value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
    case ColumnType::kFloat64:
      return value.is_number() || value == "NaN" || value == "Infinity" || value == "-Infinity";
    case ColumnType::kBool: return value.is_boolean();
    case ColumnType::kNumeric:
      if (value.is_number_integer()) return ParseDecimal(value.dump(), kNumericScale).has_value();
      [[fallthrough]];
    default: return value.is_string() && FitsText(type, value.get_ref<const std::string&>());
  }
}

Status CheckValue(const TableColumn& column, const Json& value) {
  if (column.type == ColumnType::kRecord) {
    if (!value.is_object()) return Misfit(column, value);
    return Annotate(CheckRow(column.columns, value), absl::StrCat("column '", column.name, "'"));
  }
  return Fits(column.type, value) ? absl::OkStatus() : Misfit(column, value);
}

Status CheckColumn(const TableColumn& column, const Json* value) {
  if (value == nullptr || value->is_null()) {
    if (column.mode != ColumnMode::kRequired) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("column '", column.name, "' is REQUIRED and not set"));
  }
  if (column.mode != ColumnMode::kRepeated) return CheckValue(column, *value);
  if (!value->is_array())
    return absl::InvalidArgumentError(
        absl::StrCat("column '", column.name, "' is REPEATED and has no list"));
  for (const Json& item : *value) HB_RETURN_IF_ERROR(CheckValue(column, item));
  return absl::OkStatus();
}

}  // namespace

Status CheckRow(const std::vector<TableColumn>& columns, const Json& row) {
  if (!row.is_object()) return absl::InvalidArgumentError("a row is an object, and this is none");
  for (const TableColumn& column : columns) {
    const auto found = row.find(column.name);
    HB_RETURN_IF_ERROR(CheckColumn(column, found == row.end() ? nullptr : &*found));
  }
  for (const auto& [name, value] : row.items()) {
    const bool known = std::any_of(columns.begin(), columns.end(),
                                   [&](const TableColumn& column) { return column.name == name; });
    if (!known) return absl::InvalidArgumentError(absl::StrCat("there is no column '", name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::connectors
