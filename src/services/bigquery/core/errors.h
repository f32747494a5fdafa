// Errors as Google's clients know them: an absl::Status whose payload carries BigQuery's own reason
// and location.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_ERRORS_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_ERRORS_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "services/bigquery/core/names.h"

namespace hornbeam::services::bigquery {

Status DatasetNotFound(const DatasetName& name);
Status TableNotFound(const TableName& name);
Status DatasetExists(const DatasetName& name);
Status TableExists(const TableName& name);
Status JobNotFound(std::string_view project, std::string_view job_id);

// 400 with reason "invalidQuery" and location "query".
Status InvalidQuery(std::string_view message);
// 400 with reason "invalid".
Status Invalid(std::string_view message);
// A table asked for by a query: 404 with the location phrase that Google adds.
Status QueryTableNotFound(const TableName& name);
Status QueryDatasetNotFound(const DatasetName& name);

// 400 with reason "resourcesExceeded"; `where` as in "in the allotted memory".
Status ResourcesExceeded(std::string_view where);
// 403 with reason "responseTooLarge": a result that is too large to be kept.
Status ResponseTooLarge();

// `status` with another reason (and location, when it is not empty).
Status WithReason(Status status, std::string_view reason, std::string_view location = "");

// What the REST API says of an error.
struct GoogleError {
  int http_code;
  std::string reason;
  std::string location;
  std::string canonical_code;  // "NOT_FOUND"
  std::string message;
};
GoogleError ToGoogleError(const Status& status);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_ERRORS_H_
