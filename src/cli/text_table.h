// Rows in aligned columns, for a terminal.
#ifndef HORNBEAM_CLI_TEXT_TABLE_H_
#define HORNBEAM_CLI_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hornbeam::cli {

class TextTable {
 public:
  struct Column {
    std::string name;
    bool right_aligned = false;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns. Line ends and tabs inside a cell are shown as \n and \t.
  void Add(std::vector<std::string> cells);

  // A heading, a rule and the rows, each line begun with `indent`. Widths are counted in code
  // points.
  std::string ToString(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// 1234567 as "1,234,567".
std::string Grouped(int64_t n);

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_TEXT_TABLE_H_
