// A row that did not get into its table, and why.
#ifndef HORNBEAM_IO_FAILED_ROW_H_
#define HORNBEAM_IO_FAILED_ROW_H_

#include <string>

#include "model/coder.h"

namespace hornbeam::io {

struct FailedRow {
  std::string table;  // "project.dataset.table"
  std::string error;
  // The row as a JSON object. Of a row that could not be made, the columns that were set before the
  // error; empty where there are none.
  std::string row;

  friend bool operator==(const FailedRow&, const FailedRow&) = default;
};

HORNBEAM_CODER(FailedRow, table, error, row)

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_FAILED_ROW_H_
