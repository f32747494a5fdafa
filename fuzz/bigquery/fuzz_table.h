// A table of every type for the fuzzers, and their common end.
#ifndef HORNBEAM_FUZZ_BIGQUERY_FUZZ_TABLE_H_
#define HORNBEAM_FUZZ_BIGQUERY_FUZZ_TABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "services/bigquery/core/catalog.h"
#include "services/bigquery/store/row_chunk.h"

namespace hornbeam::services::bigquery {

// Every type, nested and repeated. Made once.
std::shared_ptr<const Table> FuzzTable();
// Reads what was decoded back out, as a query would.
void ReadBack(RowChunk& chunk);
// Valid inputs to begin from; each fuzzer has its own.
std::vector<std::string> Seeds();

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_FUZZ_BIGQUERY_FUZZ_TABLE_H_
