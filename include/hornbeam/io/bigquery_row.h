// How an element becomes a row of a BigQuery table: straight to the bytes that go over the wire.
//
//   [](const Order& order, io::RowWriter& row) {
//     row.Set("id", order.id);
//     row.Set("amount", order.amount);
//     row.Set("tags", order.tags);                            // a vector: a REPEATED column
//     row.SetRecord("store", [&](io::RowWriter& store) { store.Set("city", order.city); });
//   }
//
// A column that is not set is NULL. Columns are found fastest when they are set in the schema's
// order.
#ifndef HORNBEAM_IO_BIGQUERY_ROW_H_
#define HORNBEAM_IO_BIGQUERY_ROW_H_

#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/bytes.h"
#include "base/status.h"
#include "hornbeam/io/bigquery_schema.h"
#include "model/time.h"

namespace hornbeam::io {

// A schema made ready for writing rows: column n of it is field n + 1 on the wire. Immutable.
class RowLayout {
 public:
  struct Column {
    std::string name;
    ColumnType type;
    ColumnMode mode;
    std::unique_ptr<const RowLayout> record;  // of a kRecord
  };

  // INVALID_ARGUMENT names the column that BigQuery would not take: a bad or repeated name, a
  // record without columns, or one with more than 15 levels.
  static StatusOr<std::unique_ptr<const RowLayout>> Make(const TableSchema& schema);

  const std::vector<Column>& columns() const { return columns_; }
  // Without regard to case, as BigQuery. -1: none.
  int Find(std::string_view name) const;

 private:
  static StatusOr<std::unique_ptr<const RowLayout>> Make(const std::vector<TableColumn>& columns,
                                                         const std::string& path, int depth);
  std::vector<Column> columns_;
};

// Writes one row, or one record in it. An error (an unknown column, a value of the wrong type) does
// not stop the function that writes: the first one is what status() and Finish() give.
class RowWriter {
 public:
  // Appends to *out; both outlive this.
  RowWriter(const RowLayout* layout, std::string* out)
      : layout_(layout), out_(out), set_((layout->columns().size() + 63) / 64) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // A value of the column's own kind: text for STRING, BYTES, JSON, GEOGRAPHY, and as BigQuery
  // reads it for NUMERIC, BIGNUMERIC, DATE ("2013-01-31"), TIME and DATETIME; whole numbers for
  // INT64, FLOAT64, NUMERIC and BIGNUMERIC, up to the greatest int64_t; floating ones for FLOAT64; an EventTime for TIMESTAMP
  // and (its day in UTC) DATE. An optional without a value leaves NULL; a vector goes to a REPEATED
  // column, to which each further call adds as well.
  template <typename T>
  void Set(std::string_view column, const T& value) {
    const int at = Find(column);
    if (at >= 0) SetAt(static_cast<size_t>(at), value);
  }
  template <typename T>
  void SetAt(size_t column, const T& value) {
    if constexpr (std::same_as<T, bool>) {
      SetBool(column, value);
    } else if constexpr (std::integral<T>) {
      static_assert(sizeof(T) <= sizeof(int64_t));
      if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(int64_t)) {
        if (value > static_cast<T>(INT64_MAX)) return TooGreat(column, value);
      }
      SetInt64(column, static_cast<int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      SetDouble(column, static_cast<double>(value));
    } else if constexpr (std::same_as<T, model::EventTime>) {
      SetTimestamp(column, value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      SetText(column, value);
    } else {
      SetCompound(column, value);
    }
  }
  void SetNull(std::string_view column) { Find(column); }

  // By number, from 0, in the schema's order.
  void SetText(size_t column, std::string_view value);
  void SetInt64(size_t column, int64_t value);
  void SetDouble(size_t column, double value);
  void SetBool(size_t column, bool value);
  void SetTimestamp(size_t column, model::EventTime value);
  void SetDate(size_t column, int32_t days_since_1970);

  // `fill` writes the record's columns. To a REPEATED column, each call adds one record.
  template <typename F>
  void SetRecord(std::string_view column, F&& fill) {
    const int at = Find(column);
    if (at < 0 || !Begin(static_cast<size_t>(at), ColumnType::kRecord, 2)) return;
    const size_t start = out_->size();
    RowWriter record(layout_->columns()[static_cast<size_t>(at)].record.get(), out_);
    fill(record);
    EndRecord(static_cast<size_t>(at), start, record.Finish());
  }

  // Makes the row an error.
  void Fail(Status why) {
    if (status_.ok()) status_ = std::move(why);
  }
  const Status& status() const { return status_; }
  // The first error, or that a REQUIRED column was not set.
  Status Finish();

 private:
  template <typename T>
  void SetCompound(size_t column, const std::optional<T>& value) {
    if (value) SetAt(column, *value);
  }
  template <typename T>
  void SetCompound(size_t column, const std::vector<T>& values) {
    for (const T& value : values) SetAt(column, value);
  }

  int Find(std::string_view name) {
    const auto& columns = layout_->columns();
    if (next_ < columns.size() && columns[next_].name == name) return static_cast<int>(next_++);
    return FindSlowly(name);
  }
  int FindSlowly(std::string_view name);

  // Notes that the column is set and writes its tag; false where that is an error.
  bool Begin(size_t column, ColumnType type, uint32_t wire);
  void EndRecord(size_t column, size_t start, const Status& status);
  void WrongType(size_t column, const char* got);
  void TooGreat(size_t column, uint64_t value);
  void PutText(std::string_view value) { PutBytes(out_, value); }

  const RowLayout* const layout_;
  std::string* const out_;
  size_t next_ = 0;  // the column that is likely to be set next
  absl::InlinedVector<uint64_t, 2> set_;
  Status status_;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_BIGQUERY_ROW_H_
