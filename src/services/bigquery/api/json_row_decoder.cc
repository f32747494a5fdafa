#include "services/bigquery/api/json_row_decoder.h"

#include <cmath>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/core/civil_time.h"

namespace hornbeam::services::bigquery {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

class RowDecoder {
 public:
  explicit RowDecoder(bool ignore_unknown) : ignore_unknown_(ignore_unknown) {}

  void Object(const simdjson::dom::object& object, std::vector<ColumnWriter>& columns, idx_t at,
              const std::string& path) {
    for (const auto& [key, value] : object) {
      ColumnWriter* column = Find(columns, key);
      const std::string full = absl::StrCat(path, absl::string_view(key.data(), key.size()));
      if (!column) {
        if (!ignore_unknown_) Fail(full, absl::StrCat("no such field: ", full, "."));
        continue;
      }
      if (value.is_null()) continue;
      if (!column->repeated()) {
        Value(value, *column, at, full);
        continue;
      }
      simdjson::dom::array list;
      if (value.get(list) != simdjson::SUCCESS) {
        Fail(full, absl::StrCat("Field ", full, ": array required; the column is REPEATED."));
        continue;
      }
      for (const element item : list) {
        if (item.is_null()) {
          Fail(full, absl::StrCat("Field ", full, ": a REPEATED field cannot hold null."));
          continue;
        }
        const idx_t place = column->Push(at);
        Value(item, column->element(), place, full);
      }
    }
    for (ColumnWriter& column : columns) {
      if (column.field().mode == FieldMode::kRequired && !column.IsSet(at) &&
          !Failed(path + column.field().name)) {
        Fail(absl::StrCat(path, column.field().name),
             absl::StrCat("Missing required field: ", path, column.field().name, "."));
      }
    }
  }

  std::vector<JsonRowError> TakeErrors() { return std::move(errors_); }

 private:
  static ColumnWriter* Find(std::vector<ColumnWriter>& columns, std::string_view name) {
    for (ColumnWriter& column : columns) {
      if (column.field().name == name) return &column;
    }
    for (ColumnWriter& column : columns) {
      if (absl::EqualsIgnoreCase(column.field().name, {name.data(), name.size()})) return &column;
    }
    return nullptr;
  }

  // Whether something is already said of this field: a bad value is not a missing one as well.
  bool Failed(const std::string& location) const {
    for (const JsonRowError& error : errors_) {
      if (absl::EqualsIgnoreCase(error.location, location)) return true;
    }
    return false;
  }

  void Fail(const std::string& location, std::string message) {
    if (errors_.size() < 32) errors_.push_back({"invalid", location, std::move(message)});
  }

  void Refuse(const std::string& path, const ColumnWriter& column, Refusal refusal) {
    Fail(path, absl::StrCat("Cannot convert value to ", GoogleSqlTypeName(column.field().type),
                            " (bad value): ", path, " ", refusal, "."));
  }

  void Value(element value, ColumnWriter& column, idx_t at, const std::string& path) {
    const FieldType type = column.field().type;
    if (type == FieldType::kStruct) {
      simdjson::dom::object object;
      if (value.get(object) != simdjson::SUCCESS) {
        Fail(path, absl::StrCat("This field: ", path, " is a record."));
        return;
      }
      column.SetPresent(at);
      Object(object, column.children(), at, path + ".");
      return;
    }
    if (type == FieldType::kJson) {
      // Text holds JSON; anything else is the JSON value itself.
      std::string_view text;
      const std::string own =
          value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(value);
      if (const Refusal refusal = column.SetText(at, own)) Refuse(path, column, refusal);
      return;
    }
    Refusal refusal = nullptr;
    switch (value.type()) {
      case element_type::STRING:
        refusal = Text(value.get_string().value_unsafe(), column, at);
        break;
      case element_type::BOOL: {
        const bool v = value.get_bool().value_unsafe();
        if (type == FieldType::kBool) {
          column.SetBool(at, v);
        } else if (type == FieldType::kString) {
          column.SetBytes(at, v ? "true" : "false");
        } else {
          refusal = "is a boolean";
        }
        break;
      }
      case element_type::INT64:
      case element_type::UINT64:
      case element_type::DOUBLE: refusal = Number(value, column, at); break;
      default: refusal = "is a record or an array, and its column is neither"; break;
    }
    if (refusal) Refuse(path, column, refusal);
  }

  static Refusal Text(std::string_view text, ColumnWriter& column, idx_t at) {
    const FieldType type = column.field().type;
    if (type == FieldType::kBytes) {
      std::string bytes;
      if (!absl::Base64Unescape({text.data(), text.size()}, &bytes) &&
          !absl::WebSafeBase64Unescape({text.data(), text.size()}, &bytes)) {
        return "is not base64";
      }
      column.SetBytes(at, bytes);
      return nullptr;
    }
    const Refusal refusal = column.SetText(at, text);
    if (refusal && type == FieldType::kTimestamp) {
      // Seconds since the epoch may also come as text.
      const auto micros = ParseDecimal(text, 6);
      if (micros && *micros >= kMinTimestampMicros && *micros <= kMaxTimestampMicros) {
        column.SetInt64(at, static_cast<int64_t>(*micros));
        return nullptr;
      }
    }
    if (refusal && type == FieldType::kInt64) {
      // "12.0" is an integer to BigQuery.
      const auto tenth = ParseDecimal(text, 9);
      constexpr Int128 kOne = 1'000'000'000;
      if (tenth && *tenth % kOne == 0 && *tenth / kOne <= INT64_MAX && *tenth / kOne >= INT64_MIN) {
        column.SetInt64(at, static_cast<int64_t>(*tenth / kOne));
        return nullptr;
      }
    }
    return refusal;
  }

  static Refusal Number(element value, ColumnWriter& column, idx_t at) {
    const FieldType type = column.field().type;
    double number;
    if (value.get_double().get(number) != simdjson::SUCCESS) return "is not a number";
    int64_t integer = 0;
    const bool whole = value.get_int64().get(integer) == simdjson::SUCCESS;
    switch (type) {
      case FieldType::kInt64:
        if (!whole) {
          if (std::trunc(number) != number || std::abs(number) >= 9.2e18)
            return "is not a 64-bit integer";
          integer = static_cast<int64_t>(number);
        }
        column.SetInt64(at, integer);
        return nullptr;
      case FieldType::kFloat64: column.SetDouble(at, number); return nullptr;
      case FieldType::kTimestamp: {
        const double micros = whole ? static_cast<double>(integer) * 1e6 : std::round(number * 1e6);
        if (!(micros >= static_cast<double>(kMinTimestampMicros) &&
              micros <= static_cast<double>(kMaxTimestampMicros))) {
          return "is out of the range of TIMESTAMP (seconds since 1970)";
        }
        column.SetInt64(at, whole ? integer * kMicrosPerSecond : static_cast<int64_t>(micros));
        return nullptr;
      }
      case FieldType::kBool: return "is a number";
      default: return column.SetText(at, simdjson::minify(value));
    }
  }

  const bool ignore_unknown_;
  std::vector<JsonRowError> errors_;
};

}  // namespace

std::vector<JsonRowError> DecodeJsonRow(element value, bool ignore_unknown,
                                        std::vector<ColumnWriter>& columns, idx_t at) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS)
    return {{"invalid", "", "A row must be a JSON object."}};
  RowDecoder decoder(ignore_unknown);
  decoder.Object(object, columns, at, "");
  return decoder.TakeErrors();
}

}  // namespace hornbeam::services::bigquery
