// What the REST handlers share: bodies, flags, pages, etags, rows.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_REST_JSON_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_REST_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/http_server.h"
#include "base/status.h"
#include "services/bigquery/core/query_engine.h"

namespace hornbeam::services::bigquery {

// Results that are read as a table: the dataset that a query without a destination reports, and the
// job's id as the table.
inline constexpr char kResultsDataset[] = "_hornbeam_results";

// Of rows in one answer, about.
inline constexpr size_t kMaxPageBytes = 10 << 20;

// The body as a JSON object; an empty body is {}. INVALID_ARGUMENT when it is none, or nested
// deeper than is safe to copy and print.
StatusOr<nlohmann::json> ParseBody(const HttpRequest& request);
void SetBody(const nlohmann::json& body, HttpResponse* response);
// `body` with a last member, "rows": [`rows`].
void SetBodyWithRows(const nlohmann::json& body, const std::string& rows, HttpResponse* response);
// {"error": {...}} with the status code that goes with it.
void SetError(const Status& status, HttpResponse* response);

// Members and parameters as clients send them: "true", "True", true; "10", 10. A number is never
// negative, and at most 2^60.
bool FlagOf(const nlohmann::json& object, const char* key);
bool QueryFlag(const HttpRequest& request, std::string_view name);
StatusOr<int64_t> QueryNumber(const HttpRequest& request, std::string_view name, int64_t otherwise);

// A short text that differs when the resource does.
std::string EtagOf(const nlohmann::json& resource);
// If-Match against the resource as it is now. FAILED_PRECONDITION when it has changed.
Status CheckIfMatch(const HttpRequest& request, const std::string& etag);

// The members of `body` that a user may set: all but those that the service computes.
nlohmann::json UserProperties(const nlohmann::json& body);

// One page of `rows`, from row `first`: up to `most` rows and kMaxPageBytes. Returns the
// number of rows.
StatusOr<int64_t> PageOf(const RowSet& rows, int64_t first, int64_t most, bool int64_timestamps,
                         std::string* out);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_REST_JSON_H_
