// JSON rows, as tabledata.insertAll carries them, decoded into a table's columns.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_JSON_ROW_DECODER_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_JSON_ROW_DECODER_H_

#include <simdjson.h>

#include <string>
#include <vector>

#include "services/bigquery/store/row_chunk.h"

namespace hornbeam::services::bigquery {

// As insertErrors lists it.
struct JsonRowError {
  std::string reason;
  std::string location;
  std::string message;
};

// Decodes `object` into row `at` of `columns` (all of a table). Returns what is wrong with it;
// nothing: the row is complete. A bad row may be written in part: its chunk is of no use. Fields
// without a column are skipped with `ignore_unknown`.
std::vector<JsonRowError> DecodeJsonRow(simdjson::dom::element object, bool ignore_unknown,
                                        std::vector<ColumnWriter>& columns, idx_t at);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_JSON_ROW_DECODER_H_
