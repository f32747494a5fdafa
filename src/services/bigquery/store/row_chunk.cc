#include "services/bigquery/store/row_chunk.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "services/bigquery/core/civil_time.h"

namespace hornbeam::services::bigquery {
namespace {

std::vector<duckdb_logical_type> Raw(const std::vector<LogicalType>& types) {
  std::vector<duckdb_logical_type> raw;
  raw.reserve(types.size());
  for (const LogicalType& type : types) raw.push_back(type.get());
  return raw;
}

duckdb_data_chunk MakeChunk(const std::vector<LogicalType>& types) {
  std::vector<duckdb_logical_type> raw = Raw(types);
  return duckdb_create_data_chunk(raw.data(), raw.size());
}

// The text without insignificant space; null when it is not JSON.
std::unique_ptr<char[]> MinifiedJson(std::string_view text, size_t* size) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element element;
  const simdjson::padded_string padded(text.data(), text.size());
  if (parser.parse(padded).get(element) != simdjson::SUCCESS) return nullptr;
  auto out = std::make_unique<char[]>(text.size() + simdjson::SIMDJSON_PADDING);
  if (simdjson::minify(text.data(), text.size(), out.get(), *size) != simdjson::SUCCESS)
    return nullptr;
  return out;
}

bool ParseDouble(std::string_view text, double* out) {
  const absl::string_view view(text.data(), text.size());
  if (absl::EqualsIgnoreCase(view, "nan")) {
    *out = std::nan("");
    return true;
  }
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (negative || text.front() == '+')) text.remove_prefix(1);
  const absl::string_view rest(text.data(), text.size());
  if (absl::EqualsIgnoreCase(rest, "inf") || absl::EqualsIgnoreCase(rest, "infinity")) {
    *out = negative ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  if (text.empty() || text.front() == '-') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (negative) *out = -*out;
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ColumnWriter::ColumnWriter(AsElement, const Field& field, duckdb_vector vector, idx_t rows)
    : field_(&field) {
  Attach(vector, 0, rows);
  AddChildren(rows);
}

ColumnWriter::ColumnWriter(const Field& field, duckdb_vector vector, idx_t rows) : field_(&field) {
  if (field.mode == FieldMode::kRepeated) {
    list_capacity_ = RowChunk::Capacity();
    element_.reset(
        new ColumnWriter(AsElement{}, field, duckdb_list_vector_get_child(vector), list_capacity_));
    Attach(vector, 0, rows);
    return;
  }
  Attach(vector, 0, rows);
  AddChildren(rows);
}

void ColumnWriter::AddChildren(idx_t rows) {
  if (field_->type != FieldType::kStruct) return;
  children_.reserve(field_->fields.size());
  for (idx_t i = 0; i < field_->fields.size(); ++i) {
    children_.emplace_back(field_->fields[i], duckdb_struct_vector_get_child(vector_, i), rows);
  }
}

void ColumnWriter::Attach(duckdb_vector vector, idx_t from, idx_t to) {
  vector_ = vector;
  data_ = duckdb_vector_get_data(vector);
  duckdb_vector_ensure_validity_writable(vector);
  validity_ = duckdb_vector_get_validity(vector);
  if (repeated()) {
    std::memset(static_cast<duckdb_list_entry*>(data_) + from, 0,
                (to - from) * sizeof(duckdb_list_entry));
    for (idx_t row = from; row < to; ++row) SetPresent(row);
    return;
  }
  for (idx_t row = from; row < to; ++row) {
    if ((row & 63) == 0 && to - row >= 64) {
      validity_[row >> 6] = 0;
      row += 63;
    } else {
      validity_[row >> 6] &= ~(uint64_t{1} << (row & 63));
    }
  }
  for (idx_t i = 0; i < children_.size(); ++i) {
    children_[i].Attach(duckdb_struct_vector_get_child(vector, i), from, to);
  }
}

idx_t ColumnWriter::Push(idx_t row) {
  auto& entry = static_cast<duckdb_list_entry*>(data_)[row];
  if (entry.length == 0) entry.offset = list_size_;
  if (list_size_ == list_capacity_) {
    duckdb_list_vector_reserve(vector_, list_capacity_ * 2);
    element_->Attach(duckdb_list_vector_get_child(vector_), list_capacity_, list_capacity_ * 2);
    list_capacity_ *= 2;
  }
  ++entry.length;
  duckdb_list_vector_set_size(vector_, list_size_ + 1);
  return list_size_++;
}

void ColumnWriter::SetBytes(idx_t row, std::string_view v) {
  auto& out = static_cast<duckdb_string_t*>(data_)[row];
  if (v.size() <= 12) {
    std::memset(&out, 0, sizeof out);
    out.value.inlined.length = static_cast<uint32_t>(v.size());
    std::memcpy(out.value.inlined.inlined, v.data(), v.size());
  } else {
    duckdb_vector_assign_string_element_len(vector_, row, v.data(), v.size());
  }
  SetPresent(row);
}

Refusal ColumnWriter::SetText(idx_t row, std::string_view text) {
  switch (field_->type) {
    case FieldType::kString:
      if (!simdjson::validate_utf8(text.data(), text.size())) return "is not valid UTF-8";
      SetBytes(row, text);
      return nullptr;
    case FieldType::kBytes: SetBytes(row, text); return nullptr;
    case FieldType::kInt64: {
      int64_t v;
      std::string_view digits = text;
      if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
      if (error != std::errc() || end != digits.data() + digits.size())
        return "is not a 64-bit integer";
      SetInt64(row, v);
      return nullptr;
    }
    case FieldType::kFloat64: {
      double v;
      if (!ParseDouble(text, &v)) return "is not a number";
      SetDouble(row, v);
      return nullptr;
    }
    case FieldType::kBool: {
      const absl::string_view view(text.data(), text.size());
      const bool yes = absl::EqualsIgnoreCase(view, "true") || absl::EqualsIgnoreCase(view, "t") ||
                       view == "1" || absl::EqualsIgnoreCase(view, "yes") ||
                       absl::EqualsIgnoreCase(view, "y");
      const bool no = absl::EqualsIgnoreCase(view, "false") || absl::EqualsIgnoreCase(view, "f") ||
                      view == "0" || absl::EqualsIgnoreCase(view, "no") ||
                      absl::EqualsIgnoreCase(view, "n");
      if (!yes && !no) return "is not a boolean";
      SetBool(row, yes);
      return nullptr;
    }
    case FieldType::kNumeric:
    case FieldType::kBigNumeric: {
      const bool big = field_->type == FieldType::kBigNumeric;
      const auto v = ParseDecimal(text, big ? kBigNumericScale : kNumericScale);
      if (!v)
        return big ? "is not a BIGNUMERIC that fits into 38 digits" : "is not a NUMERIC value";
      SetInt128(row, *v);
      return nullptr;
    }
    case FieldType::kTimestamp: {
      const auto v = ParseTimestamp(text);
      if (!v) return "is not a timestamp";
      SetInt64(row, *v);
      return nullptr;
    }
    case FieldType::kDate: {
      const auto v = ParseDate(text);
      if (!v) return "is not a date";
      SetInt32(row, *v);
      return nullptr;
    }
    case FieldType::kTime: {
      const auto v = ParseTime(text);
      if (!v) return "is not a time";
      SetInt64(row, *v);
      return nullptr;
    }
    case FieldType::kDatetime: {
      const auto v = ParseDatetime(text);
      if (!v) return "is not a datetime";
      SetInt64(row, *v);
      return nullptr;
    }
    case FieldType::kJson: {
      size_t size = 0;
      const auto minified = MinifiedJson(text, &size);
      if (!minified) return "is not valid JSON";
      SetBytes(row, {minified.get(), size});
      return nullptr;
    }
    case FieldType::kStruct: return "is a record";
  }
  return "is of an unknown type";
}

RowChunk::RowChunk(const TableSchema& schema, const std::vector<LogicalType>& types, idx_t rows)
    : chunk_(MakeChunk(types)), rows_(rows) {
  columns_.reserve(schema.fields.size());
  for (idx_t i = 0; i < schema.fields.size(); ++i) {
    columns_.emplace_back(schema.fields[i], duckdb_data_chunk_get_vector(chunk_.get(), i), rows);
  }
  duckdb_data_chunk_set_size(chunk_.get(), rows);
}

}  // namespace hornbeam::services::bigquery
