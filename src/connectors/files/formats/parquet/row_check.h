// Whether a JSON row fits a table's columns.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_ROW_CHECK_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_ROW_CHECK_H_

#include <vector>

#include "base/status.h"
#include "hornbeam/io/bigquery_schema.h"
#include "hornbeam/io/json_io.h"

namespace hornbeam::connectors {

// INVALID_ARGUMENT names the column and what it has. What passes can be written.
Status CheckRow(const std::vector<io::TableColumn>& columns, const io::Json& row);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_ROW_CHECK_H_
