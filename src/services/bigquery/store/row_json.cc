#include "services/bigquery/store/row_json.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/core/civil_time.h"
#include "services/bigquery/core/decimal.h"
#include "services/bigquery/core/errors.h"
#include "services/bigquery/store/duckdb_handles.h"

namespace hornbeam::services::bigquery {
namespace {

bool IsJson(duckdb_logical_type type) {
  char* alias = duckdb_logical_type_get_alias(type);
  const bool json = alias && std::string_view(alias) == "JSON";
  duckdb_free(alias);
  return json;
}

std::string_view StringAt(const void* data, idx_t row) {
  auto* strings = const_cast<duckdb_string_t*>(static_cast<const duckdb_string_t*>(data));
  return {duckdb_string_t_data(strings + row), duckdb_string_t_length(strings[row])};
}

Int128 FromHugeint(duckdb_hugeint v) {
  return static_cast<Int128>(
      (static_cast<unsigned __int128>(static_cast<uint64_t>(v.upper)) << 64) | v.lower);
}

void AppendDouble(double v, std::string* out) {
  if (std::isnan(v)) {
    *out += "NaN";
  } else if (std::isinf(v)) {
    *out += v < 0 ? "-Infinity" : "Infinity";
  } else {
    char buffer[40];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, v);
    const std::string_view text(buffer, static_cast<size_t>(end - buffer));
    *out += text;
    if (text.find_first_of(".e") == std::string_view::npos) *out += ".0";
  }
}

void AppendSeconds(int64_t micros, std::string* out) {
  if (micros < 0) *out += '-';
  const uint64_t magnitude =
      micros < 0 ? -static_cast<uint64_t>(micros) : static_cast<uint64_t>(micros);
  char buffer[40];
  const int n = std::snprintf(buffer, sizeof buffer, "%llu.%06llu",
                              static_cast<unsigned long long>(magnitude / 1000000),
                              static_cast<unsigned long long>(magnitude % 1000000));
  out->append(buffer, static_cast<size_t>(n));
}

Int128 DecimalAt(duckdb_logical_type type, const void* data, idx_t row) {
  switch (duckdb_decimal_internal_type(type)) {
    case DUCKDB_TYPE_SMALLINT: return static_cast<const int16_t*>(data)[row];
    case DUCKDB_TYPE_INTEGER: return static_cast<const int32_t*>(data)[row];
    case DUCKDB_TYPE_BIGINT: return static_cast<const int64_t*>(data)[row];
    default: return FromHugeint(static_cast<const duckdb_hugeint*>(data)[row]);
  }
}

Status AppendInteger(Int128 v, std::string* out) {
  if (v > INT64_MAX || v < INT64_MIN)
    return InvalidQuery("int64 overflow in a result of the query");
  absl::StrAppend(out, "\"", static_cast<int64_t>(v), "\"");
  return absl::OkStatus();
}

Status AppendValue(duckdb_vector vector, idx_t row, bool int64_timestamps, std::string* out);

Status AppendList(duckdb_vector vector, idx_t row, bool int64_timestamps, std::string* out) {
  const auto entry = static_cast<duckdb_list_entry*>(duckdb_vector_get_data(vector))[row];
  duckdb_vector elements = duckdb_list_vector_get_child(vector);
  *out += '[';
  for (idx_t i = 0; i < entry.length; ++i) {
    *out += i ? ",{\"v\":" : "{\"v\":";
    HB_RETURN_IF_ERROR(AppendValue(elements, entry.offset + i, int64_timestamps, out));
    *out += '}';
  }
  *out += ']';
  return absl::OkStatus();
}

Status AppendValue(duckdb_vector vector, idx_t row, bool int64_timestamps, std::string* out) {
  const LogicalType owned(duckdb_vector_get_column_type(vector));
  duckdb_logical_type type = owned.get();
  const duckdb_type id = duckdb_get_type_id(type);
  const uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity && !((validity[row >> 6] >> (row & 63)) & 1)) {
    *out += id == DUCKDB_TYPE_LIST ? "[]" : "null";
    return absl::OkStatus();
  }
  const void* data = duckdb_vector_get_data(vector);
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
      *out += static_cast<const bool*>(data)[row] ? "\"true\"" : "\"false\"";
      break;
    case DUCKDB_TYPE_TINYINT: return AppendInteger(static_cast<const int8_t*>(data)[row], out);
    case DUCKDB_TYPE_SMALLINT: return AppendInteger(static_cast<const int16_t*>(data)[row], out);
    case DUCKDB_TYPE_INTEGER: return AppendInteger(static_cast<const int32_t*>(data)[row], out);
    case DUCKDB_TYPE_BIGINT: return AppendInteger(static_cast<const int64_t*>(data)[row], out);
    case DUCKDB_TYPE_UTINYINT: return AppendInteger(static_cast<const uint8_t*>(data)[row], out);
    case DUCKDB_TYPE_USMALLINT: return AppendInteger(static_cast<const uint16_t*>(data)[row], out);
    case DUCKDB_TYPE_UINTEGER: return AppendInteger(static_cast<const uint32_t*>(data)[row], out);
    case DUCKDB_TYPE_UBIGINT: return AppendInteger(static_cast<const uint64_t*>(data)[row], out);
    case DUCKDB_TYPE_HUGEINT:
      return AppendInteger(FromHugeint(static_cast<const duckdb_hugeint*>(data)[row]), out);
    case DUCKDB_TYPE_FLOAT:
      *out += '"';
      AppendDouble(static_cast<double>(static_cast<const float*>(data)[row]), out);
      *out += '"';
      break;
    case DUCKDB_TYPE_DOUBLE:
      *out += '"';
      AppendDouble(static_cast<const double*>(data)[row], out);
      *out += '"';
      break;
    case DUCKDB_TYPE_DECIMAL:
      *out += '"';
      AppendDecimal(DecimalAt(type, data, row), duckdb_decimal_scale(type), out);
      *out += '"';
      break;
    case DUCKDB_TYPE_VARCHAR: AppendJsonString(StringAt(data, row), out); break;
    case DUCKDB_TYPE_BLOB: {
      const std::string_view bytes = StringAt(data, row);
      absl::StrAppend(out, "\"", absl::Base64Escape({bytes.data(), bytes.size()}), "\"");
      break;
    }
    case DUCKDB_TYPE_DATE:
      *out += '"';
      AppendDate(static_cast<const int32_t*>(data)[row], out);
      *out += '"';
      break;
    case DUCKDB_TYPE_TIME:
      *out += '"';
      AppendTime(static_cast<const int64_t*>(data)[row], out);
      *out += '"';
      break;
    case DUCKDB_TYPE_TIMESTAMP:
      *out += '"';
      AppendDatetime(static_cast<const int64_t*>(data)[row], out);
      *out += '"';
      break;
    case DUCKDB_TYPE_TIMESTAMP_TZ: {
      const int64_t micros = static_cast<const int64_t*>(data)[row];
      *out += '"';
      if (int64_timestamps) {
        absl::StrAppend(out, micros);
      } else {
        AppendSeconds(micros, out);
      }
      *out += '"';
      break;
    }
    case DUCKDB_TYPE_STRUCT: {
      *out += "{\"f\":[";
      const idx_t n = duckdb_struct_type_child_count(type);
      for (idx_t i = 0; i < n; ++i) {
        *out += i ? ",{\"v\":" : "{\"v\":";
        HB_RETURN_IF_ERROR(
            AppendValue(duckdb_struct_vector_get_child(vector, i), row, int64_timestamps, out));
        *out += '}';
      }
      *out += "]}";
      break;
    }
    case DUCKDB_TYPE_LIST: return AppendList(vector, row, int64_timestamps, out);
    default: *out += "null"; break;  // SQLNULL; FieldOfType refuses the rest
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<Field> FieldOfType(const std::string& name, duckdb_logical_type type) {
  Field field;
  field.name = name;
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_BOOLEAN: field.type = FieldType::kBool; break;
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_SQLNULL:
      field.type = FieldType::kInt64;
      break;  // an untyped NULL is INT64 on BigQuery
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE: field.type = FieldType::kFloat64; break;
    case DUCKDB_TYPE_DECIMAL:
      field.type =
          duckdb_decimal_scale(type) > kNumericScale ? FieldType::kBigNumeric : FieldType::kNumeric;
      break;
    case DUCKDB_TYPE_VARCHAR:
      field.type = IsJson(type) ? FieldType::kJson : FieldType::kString;
      break;
    case DUCKDB_TYPE_BLOB: field.type = FieldType::kBytes; break;
    case DUCKDB_TYPE_DATE: field.type = FieldType::kDate; break;
    case DUCKDB_TYPE_TIME: field.type = FieldType::kTime; break;
    case DUCKDB_TYPE_TIMESTAMP: field.type = FieldType::kDatetime; break;
    case DUCKDB_TYPE_TIMESTAMP_TZ: field.type = FieldType::kTimestamp; break;
    case DUCKDB_TYPE_STRUCT: {
      field.type = FieldType::kStruct;
      const idx_t n = duckdb_struct_type_child_count(type);
      for (idx_t i = 0; i < n; ++i) {
        char* child_name = duckdb_struct_type_child_name(type, i);
        const LogicalType child(duckdb_struct_type_child_type(type, i));
        std::string child_field = child_name ? child_name : "";
        if (child_field.empty()) child_field = absl::StrCat("_field_", i + 1);
        auto made = FieldOfType(child_field, child.get());
        duckdb_free(child_name);
        HB_RETURN_IF_ERROR(made.status());
        field.fields.push_back(*std::move(made));
      }
      break;
    }
    case DUCKDB_TYPE_LIST: {
      const LogicalType child(duckdb_list_type_child_type(type));
      HB_ASSIGN_OR_RETURN(field, FieldOfType(name, child.get()));
      if (field.mode == FieldMode::kRepeated) {
        return InvalidQuery(
            "Cannot construct array with element type ARRAY because nested arrays are not "
            "supported");
      }
      field.mode = FieldMode::kRepeated;
      break;
    }
    default:
      return InvalidQuery(absl::StrCat(
          "The column ", name, " of the result is of a type (INTERVAL, RANGE or GEOGRAPHY) ",
          "that this local BigQuery cannot return; cast it to another one"));
  }
  return field;
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out->append(text, from, i - from);
    from = i + 1;
    switch (c) {
      case '"': *out += "\\\""; break;
      case '\\': *out += "\\\\"; break;
      case '\n': *out += "\\n"; break;
      case '\r': *out += "\\r"; break;
      case '\t': *out += "\\t"; break;
      default: {
        char buffer[8];
        out->append(buffer,
                    static_cast<size_t>(std::snprintf(buffer, sizeof buffer, "\\u%04x", c)));
      }
    }
  }
  out->append(text, from, text.size() - from);
  *out += '"';
}

Status AppendRowJson(duckdb_data_chunk chunk, idx_t row, bool int64_timestamps, std::string* out) {
  *out += "{\"f\":[";
  const idx_t columns = duckdb_data_chunk_get_column_count(chunk);
  for (idx_t c = 0; c < columns; ++c) {
    *out += c ? ",{\"v\":" : "{\"v\":";
    HB_RETURN_IF_ERROR(
        AppendValue(duckdb_data_chunk_get_vector(chunk, c), row, int64_timestamps, out));
    *out += '}';
  }
  *out += "]}";
  return absl::OkStatus();
}

}  // namespace hornbeam::services::bigquery
