// Rows in aligned columns, for a terminal.
#ifndef HORNBEAM_CLI_TEXT_TABLE_H_
#define HORNBEAM_CLI_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hornbeam::cli {

// Text on one line that commands no terminal: what comes from a message or a table may hold control
// characters (below U+0020, and U+007F to U+009F), which are shown as \n, \r, \t or \x1b.
std::string Printable(std::string_view text);

class TextTable {
 public:
  struct Column {
    std::string name;
    bool right_aligned = false;
  };

  // Names and cells are made Printable.
  explicit TextTable(std::vector<Column> columns);

  // As many cells as there are columns.
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
