// Whether rows of a layout fit into a table.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_TABLE_CHECK_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_TABLE_CHECK_H_

#include "base/status.h"
#include "hornbeam/io/bigquery_row.h"
#include "hornbeam/io/bigquery_write_options.h"

namespace google::cloud::bigquery::storage::v1 {
class TableSchema;
}  // namespace google::cloud::bigquery::storage::v1

namespace hornbeam::connectors {

// FAILED_PRECONDITION names the first column that does not fit: it is missing in the table, has
// another type there or is REPEATED in one of the two only; or the table REQUIRES one that the rows
// do not have.
Status CheckSchema(const io::RowLayout& rows,
                   const google::cloud::bigquery::storage::v1::TableSchema& table);

// INVALID_ARGUMENT where the options contradict themselves or ask for what a stream cannot do.
Status CheckWriteOptions(const io::BigQueryWriteOptions& options);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_TABLE_CHECK_H_
