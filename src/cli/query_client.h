// Runs a query on a BigQuery REST service and gathers its rows.
#ifndef HORNBEAM_CLI_QUERY_CLIENT_H_
#define HORNBEAM_CLI_QUERY_CLIENT_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "nlohmann/json_fwd.hpp"

namespace hornbeam::cli {

class QueryClient {
 public:
  QueryClient(std::string endpoint, std::string project)
      : endpoint_(std::move(endpoint)), project_(std::move(project)) {}

  // {"schema": {"fields": [...]}, "rows": [{"f": [{"v": ...}]}], "totalRows": "n"} as BigQuery
  // sends it, with the rows of further pages up to `max_rows` in all. INVALID_ARGUMENT with
  // BigQuery's own message for a query that it refuses.
  StatusOr<nlohmann::json> Run(const std::string& sql, int64_t max_rows) const;

 private:
  const std::string endpoint_;
  const std::string project_;
};

// The answer as text in aligned columns, ending in a line that counts the rows.
std::string ResultTable(const nlohmann::json& answer);
// The rows as a JSON array of objects, one a line, with numbers, booleans and nested records as
// JSON has them.
std::string ResultJson(const nlohmann::json& answer);

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_QUERY_CLIENT_H_
