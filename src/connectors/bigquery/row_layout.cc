#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hornbeam/io/bigquery_row.h"

namespace hornbeam::io {
namespace {

constexpr int kMaxDepth = 15;

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return absl::ascii_tolower(x) == absl::ascii_tolower(y);
  });
}

// The names that are also names of Protobuf fields; others BigQuery takes only in newer forms.
bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 300 ||
      absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
    return false;
  }
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

StatusOr<std::unique_ptr<const RowLayout>> RowLayout::Make(const TableSchema& schema) {
  return Make(schema.columns, "", 1);
}

StatusOr<std::unique_ptr<const RowLayout>> RowLayout::Make(const std::vector<TableColumn>& columns,
                                                           const std::string& path, int depth) {
  if (columns.empty()) {
    return absl::InvalidArgumentError(
        path.empty() ? std::string("the schema has no columns")
                     : absl::StrCat("the record '", path, "' of the schema has no columns"));
  }
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("the schema nests records more than ", kMaxDepth, " deep at '", path, "'"));
  }
  auto layout = std::make_unique<RowLayout>();
  for (const TableColumn& column : columns) {
    const std::string full = path.empty() ? column.name : absl::StrCat(path, ".", column.name);
    if (!IsName(column.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schema's column name '", full,
                       "' must consist of letters, digits and _, and not begin with a digit"));
    }
    if (layout->Find(column.name) >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schema has the column '", full, "' twice"));
    }
    Column made{column.name, column.type, column.mode, nullptr};
    if (column.type == ColumnType::kRecord) {
      HB_ASSIGN_OR_RETURN(made.record, Make(column.columns, full, depth + 1));
    }
    layout->columns_.push_back(std::move(made));
  }
  return layout;
}

int RowLayout::Find(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (EqualsIgnoringCase(columns_[i].name, name)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace hornbeam::io
