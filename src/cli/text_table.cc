#include "cli/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace hornbeam::cli {
namespace {

constexpr std::string_view kGap = "  ";

size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

void AppendCell(std::string* line, std::string_view cell, size_t width, bool right_aligned) {
  const std::string padding(width - Width(cell), ' ');
  if (right_aligned) line->append(padding);
  line->append(cell);
  if (!right_aligned) line->append(padding);
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '\n') {
      out += "\\n";
    } else if (text[i] == '\r') {
      out += "\\r";
    } else if (text[i] == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else if (byte == 0xc2 && i + 1 < text.size() &&
               static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.name = Printable(column.name);
}

void TextTable::Add(std::vector<std::string> cells) {
  HB_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString(std::string_view indent) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = Width(columns_[i].name);
    for (const auto& row : rows_) width = std::max(width, Width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line.append(kGap);
      AppendCell(&line, cell_of(i), widths[i], columns_[i].right_aligned);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.append(indent).append(line).append("\n");
  };
  add_line([&](size_t i) -> std::string_view { return columns_[i].name; });
  std::string rule;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (i > 0) rule.append(kGap);
    for (size_t n = 0; n < widths[i]; ++n) rule.append("─");
  }
  out.append(indent).append(rule).append("\n");
  for (const auto& row : rows_) add_line([&](size_t i) -> std::string_view { return row[i]; });
  return out;
}

std::string Grouped(int64_t n) {
  std::string digits = absl::StrCat(n);
  const size_t first = digits.front() == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

}  // namespace hornbeam::cli
