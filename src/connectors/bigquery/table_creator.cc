#include "connectors/bigquery/table_creator.h"

#include <httplib.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "connectors/google/access_token.h"

namespace hornbeam::connectors {
namespace {

using nlohmann::json;

constexpr char kGoogle[] = "https://bigquery.googleapis.com";

json Fields(const std::vector<io::TableColumn>& columns) {
  json fields = json::array();
  for (const io::TableColumn& column : columns) {
    json field = {{"name", column.name},
                  {"type", io::ToString(column.type)},
                  {"mode", io::ToString(column.mode)}};
    // The REST API has its old names for some, and takes both.
    if (column.type == io::ColumnType::kRecord) {
      field["type"] = "RECORD";
      field["fields"] = Fields(column.columns);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string RestEndpoint(const io::BigQueryWriteOptions& options) {
  std::string endpoint = options.rest_endpoint;
  if (endpoint.empty()) {
    if (const char* const value = std::getenv("BIGQUERY_EMULATOR_HOST")) endpoint = value;
  }
  if (endpoint.empty()) return kGoogle;
  if (!absl::StartsWith(endpoint, "http://") && !absl::StartsWith(endpoint, "https://")) {
    endpoint = absl::StrCat("http://", endpoint);
  }
  while (absl::EndsWith(endpoint, "/")) endpoint.pop_back();
  return endpoint;
}

// What Google's error JSON says, or the start of whatever else came.
std::string ErrorMessage(const std::string& body) {
  const json answer = json::parse(body, nullptr, false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_object() &&
      answer["error"].contains("message") && answer["error"]["message"].is_string()) {
    return answer["error"]["message"].get<std::string>();
  }
  return body.substr(0, 200);
}

}  // namespace

std::string CreateTableBody(const io::TableName& name, const io::BigQueryWriteOptions& options) {
  json body = {
      {"tableReference",
       {{"projectId", name.project}, {"datasetId", name.dataset}, {"tableId", name.table}}},
      {"schema", {{"fields", Fields(options.schema.columns)}}}};
  if (!options.partition_column.empty()) {
    body["timePartitioning"] = {{"type", "DAY"}, {"field", options.partition_column}};
  }
  if (!options.clustering_columns.empty()) {
    body["clustering"] = {{"fields", options.clustering_columns}};
  }
  return body.dump();
}

Status CreateTable(const io::TableName& name, const io::BigQueryWriteOptions& options) {
  const std::string endpoint = RestEndpoint(options);
  const std::string what = absl::StrCat("creating table ", name.ToString(), " at ", endpoint);
  httplib::Client client(endpoint);
  client.set_connection_timeout(10);
  client.set_read_timeout(60);
  if (endpoint == kGoogle) {
    StatusOr<std::string> token = GetAccessToken();
    if (!token.ok()) return Annotate(token.status(), what);
    client.set_bearer_token_auth(*token);
  }
  const httplib::Result result = client.Post(
      absl::StrCat("/bigquery/v2/projects/", name.project, "/datasets/", name.dataset, "/tables"),
      CreateTableBody(name, options), "application/json");
  if (!result) {
    return absl::UnavailableError(absl::StrCat(what, ": ", httplib::to_string(result.error()),
                                               "; check that BigQuery's REST API answers there"));
  }
  switch (result->status) {
    case 200:
    case 409:  // someone was faster
      return absl::OkStatus();
    case 404:
      return absl::NotFoundError(absl::StrCat(
          what, ": dataset ", name.project, ".", name.dataset,
          " does not exist; create it first (a pipeline creates tables, not datasets)"));
    case 401:
    case 403:
      return absl::PermissionDeniedError(
          absl::StrCat(what, ": ", ErrorMessage(result->body),
                       "; the job's account needs the role BigQuery Data Editor"));
    case 429:
    case 500:
    case 502:
    case 503: return absl::UnavailableError(absl::StrCat(what, ": ", ErrorMessage(result->body)));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": ", ErrorMessage(result->body), " (HTTP ", result->status, ")"));
  }
}

}  // namespace hornbeam::connectors
