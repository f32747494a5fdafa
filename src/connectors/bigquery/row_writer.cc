#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "hornbeam/io/bigquery_row.h"

namespace hornbeam::io {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kDelimited = 2;
constexpr int64_t kDayUs = 86'400'000'000;

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 100;
  std::string quoted = "'";
  quoted.append(text.substr(0, kShown));
  quoted.append(text.size() > kShown ? "...'" : "'");
  return quoted;
}

// "2013-01-31"
std::optional<int32_t> ParseDate(std::string_view text) {
  int part[3];
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '-')) return {};
    const auto [next, error] = std::from_chars(at, end, part[i]);
    if (error != std::errc() || part[i] < 0) return {};
    at = next;
  }
  if (at != end) return {};
  const absl::CivilDay day(part[0], part[1], part[2]);
  if (day.year() != part[0] || day.month() != part[1] || day.day() != part[2] || part[0] < 1 ||
      part[0] > 9999) {
    return {};
  }
  return static_cast<int32_t>(day - absl::CivilDay(1970, 1, 1));
}

}  // namespace

int RowWriter::FindSlowly(std::string_view name) {
  const int at = layout_->Find(name);
  if (at >= 0) {
    next_ = static_cast<size_t>(at) + 1;
  } else {
    Fail(absl::InvalidArgumentError(absl::StrCat("the schema has no column ", Quoted(name))));
  }
  return at;
}

bool RowWriter::Begin(size_t column, ColumnType type, uint32_t wire) {
  if (column >= layout_->columns().size()) {
    Fail(absl::InvalidArgumentError(absl::StrCat("the schema has no column number ", column)));
    return false;
  }
  const RowLayout::Column& at = layout_->columns()[column];
  if (at.type != type) {
    WrongType(column, ToString(type));
    return false;
  }
  uint64_t& word = set_[column / 64];
  const uint64_t bit = uint64_t{1} << (column % 64);
  if ((word & bit) && at.mode != ColumnMode::kRepeated) {
    Fail(absl::InvalidArgumentError(absl::StrCat("the column '", at.name, "' is set twice")));
    return false;
  }
  word |= bit;
  PutVarint(out_, (column + 1) << 3 | wire);
  return true;
}

void RowWriter::WrongType(size_t column, const char* got) {
  const RowLayout::Column& at = layout_->columns()[column];
  Fail(absl::InvalidArgumentError(absl::StrCat("the column '", at.name, "' is ", ToString(at.type),
                                               " and was given a value of ", got)));
}

void RowWriter::TooGreat(size_t column, uint64_t value) {
  const std::string name =
      column < layout_->columns().size() ? layout_->columns()[column].name : std::to_string(column);
  Fail(absl::InvalidArgumentError(
      absl::StrCat("the column '", name, "' was given ", value,
                   ", which is more than a whole number of 64 bits with a sign can be")));
}

void RowWriter::SetText(size_t column, std::string_view value) {
  const ColumnType type =
      column < layout_->columns().size() ? layout_->columns()[column].type : ColumnType::kString;
  switch (type) {
    case ColumnType::kString:
    case ColumnType::kBytes:
    case ColumnType::kTime:
    case ColumnType::kDatetime:
    case ColumnType::kNumeric:
    case ColumnType::kBigNumeric:
    case ColumnType::kJson:
    case ColumnType::kGeography:
      if (Begin(column, type, kDelimited)) PutText(value);
      return;
    case ColumnType::kDate:
      if (const std::optional<int32_t> days = ParseDate(value)) {
        SetDate(column, *days);
      } else {
        Fail(
            absl::InvalidArgumentError(absl::StrCat("the column '", layout_->columns()[column].name,
                                                    "' is DATE and was given ", Quoted(value))));
      }
      return;
    default: WrongType(column, "text");
  }
}

void RowWriter::SetInt64(size_t column, int64_t value) {
  const ColumnType type =
      column < layout_->columns().size() ? layout_->columns()[column].type : ColumnType::kInt64;
  if (type == ColumnType::kFloat64) return SetDouble(column, static_cast<double>(value));
  if (type == ColumnType::kNumeric || type == ColumnType::kBigNumeric) {
    return SetText(column, std::to_string(value));
  }
  if (Begin(column, ColumnType::kInt64, kVarint)) PutVarint(out_, static_cast<uint64_t>(value));
}

void RowWriter::SetDouble(size_t column, double value) {
  if (Begin(column, ColumnType::kFloat64, kFixed64)) {
    PutFixed64(out_, std::bit_cast<uint64_t>(value));
  }
}

void RowWriter::SetBool(size_t column, bool value) {
  if (Begin(column, ColumnType::kBool, kVarint)) out_->push_back(value ? 1 : 0);
}

void RowWriter::SetTimestamp(size_t column, model::EventTime value) {
  if (column < layout_->columns().size() && layout_->columns()[column].type == ColumnType::kDate) {
    const int64_t floor = value.us % kDayUs < 0 ? value.us / kDayUs - 1 : value.us / kDayUs;
    return SetDate(column, static_cast<int32_t>(floor));
  }
  if (Begin(column, ColumnType::kTimestamp, kVarint)) {
    PutVarint(out_, static_cast<uint64_t>(value.us));
  }
}

void RowWriter::SetDate(size_t column, int32_t days_since_1970) {
  if (Begin(column, ColumnType::kDate, kVarint)) {
    PutVarint(out_, static_cast<uint64_t>(static_cast<int64_t>(days_since_1970)));
  }
}

void RowWriter::EndRecord(size_t column, size_t start, const Status& status) {
  if (!status.ok()) {
    Fail(Annotate(status, absl::StrCat("in '", layout_->columns()[column].name, "'")));
  }
  std::string length;
  PutVarint(&length, out_->size() - start);
  out_->insert(start, length);
}

Status RowWriter::Finish() {
  if (!status_.ok()) return status_;
  for (size_t i = 0; i < layout_->columns().size(); ++i) {
    const RowLayout::Column& column = layout_->columns()[i];
    if (column.mode == ColumnMode::kRequired && !(set_[i / 64] >> (i % 64) & 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the column '", column.name, "' is REQUIRED and was not set"));
    }
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::io
