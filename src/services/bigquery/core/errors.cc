#include "services/bigquery/core/errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace hornbeam::services::bigquery {
namespace {

constexpr char kReason[] = "hornbeam/bigquery-reason";
constexpr char kLocation[] = "hornbeam/bigquery-location";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

struct Default {
  int http_code;
  const char* reason;
};

Default DefaultsOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound: return {404, "notFound"};
    case absl::StatusCode::kAlreadyExists: return {409, "duplicate"};
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return {400, "invalid"};
    case absl::StatusCode::kFailedPrecondition: return {412, "conditionNotMet"};
    case absl::StatusCode::kPermissionDenied: return {403, "accessDenied"};
    case absl::StatusCode::kResourceExhausted: return {403, "quotaExceeded"};
    case absl::StatusCode::kUnimplemented: return {501, "notImplemented"};
    case absl::StatusCode::kUnavailable: return {503, "backendError"};
    case absl::StatusCode::kCancelled: return {499, "stopped"};
    default: return {500, "internalError"};
  }
}

}  // namespace

Status WithReason(Status status, std::string_view reason, std::string_view location) {
  status.SetPayload(kReason, absl::Cord(View(reason)));
  if (!location.empty()) status.SetPayload(kLocation, absl::Cord(View(location)));
  return status;
}

Status DatasetNotFound(const DatasetName& name) {
  return absl::NotFoundError(absl::StrCat("Not found: Dataset ", name.ToString()));
}
Status TableNotFound(const TableName& name) {
  return absl::NotFoundError(absl::StrCat("Not found: Table ", name.ToString()));
}
Status DatasetExists(const DatasetName& name) {
  return absl::AlreadyExistsError(absl::StrCat("Already Exists: Dataset ", name.ToString()));
}
Status TableExists(const TableName& name) {
  return absl::AlreadyExistsError(absl::StrCat("Already Exists: Table ", name.ToString()));
}
Status JobNotFound(std::string_view project, std::string_view job_id) {
  return absl::NotFoundError(absl::StrCat("Not found: Job ", View(project), ":US.", View(job_id)));
}
Status InvalidQuery(std::string_view message) {
  return WithReason(absl::InvalidArgumentError(View(message)), "invalidQuery", "query");
}
Status Invalid(std::string_view message) { return absl::InvalidArgumentError(View(message)); }

Status QueryTableNotFound(const TableName& name) {
  return absl::NotFoundError(
      absl::StrCat("Not found: Table ", name.ToString(), " was not found in location US"));
}
Status QueryDatasetNotFound(const DatasetName& name) {
  return absl::NotFoundError(
      absl::StrCat("Not found: Dataset ", name.ToString(), " was not found in location US"));
}

Status ResourcesExceeded(std::string_view where) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "Resources exceeded during query execution: The query could not be executed ",
          View(where), ".")),
      "resourcesExceeded");
}

Status ResponseTooLarge() {
  return WithReason(
      absl::ResourceExhaustedError("Response too large to return. Consider specifying a "
                                   "destination table in your job configuration."),
      "responseTooLarge");
}

GoogleError ToGoogleError(const Status& status) {
  const Default defaults = DefaultsOf(status.code());
  GoogleError error{defaults.http_code, defaults.reason, "",
                    absl::StatusCodeToString(status.code()), std::string(status.message())};
  if (const auto reason = status.GetPayload(kReason)) error.reason = std::string(*reason);
  if (error.reason == "resourcesExceeded" || error.reason == "timeout") error.http_code = 400;
  if (const auto location = status.GetPayload(kLocation)) error.location = std::string(*location);
  return error;
}

}  // namespace hornbeam::services::bigquery
