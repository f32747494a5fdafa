// Creates a table through BigQuery's REST API; the Storage Write API cannot.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_TABLE_CREATOR_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_TABLE_CREATOR_H_

#include <string>

#include "base/status.h"
#include "hornbeam/io/bigquery_write_options.h"

namespace hornbeam::connectors {

// Creates `name` with the schema, partitioning and clustering of `options`. OK as well when it is
// there already. NOT_FOUND when its dataset does not exist. Blocks.
Status CreateTable(const io::TableName& name, const io::BigQueryWriteOptions& options);

// The request's body.
std::string CreateTableBody(const io::TableName& name, const io::BigQueryWriteOptions& options);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_TABLE_CREATOR_H_
