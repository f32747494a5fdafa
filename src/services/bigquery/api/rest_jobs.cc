#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/bigquery/api/body_members.h"
#include "services/bigquery/api/rest_api.h"
#include "services/bigquery/api/rest_json.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

using nlohmann::json;

namespace {

constexpr int64_t kDefaultPage = 100'000;
constexpr int64_t kDefaultTimeoutMs = 10'000;
constexpr int64_t kMaxTimeoutMs = 200'000;
// How long an insert waits for the job: most queries are done by then, and their clients need not
// ask again.
constexpr std::chrono::milliseconds kInsertWait{200};

// BigQuery's, of characters.
constexpr size_t kMaxQueryBytes = size_t{1} << 20;

json TableReference(const TableName& name) {
  return {{"projectId", name.project}, {"datasetId", name.dataset}, {"tableId", name.table}};
}

json JobReference(const JobSnapshot& job) {
  return {{"projectId", job.project}, {"jobId", job.id}, {"location", "US"}};
}

json ErrorProto(const Status& status) {
  const GoogleError error = ToGoogleError(status);
  json proto = {{"reason", error.reason}, {"message", error.message}};
  if (!error.location.empty()) proto["location"] = error.location;
  return proto;
}

// The part of a query that jobs.insert (configuration.query) and jobs.query (the body) have in
// common.
StatusOr<QueryRequest> ToQueryRequest(const std::string& project, json* query) {
  HB_RETURN_IF_ERROR(CheckMembers({{"query", MemberType::kString},
                                   {"defaultDataset", MemberType::kObject},
                                   {"defaultDataset.projectId", MemberType::kString},
                                   {"defaultDataset.datasetId", MemberType::kString},
                                   {"destinationTable", MemberType::kObject},
                                   {"destinationTable.projectId", MemberType::kString},
                                   {"destinationTable.datasetId", MemberType::kString},
                                   {"destinationTable.tableId", MemberType::kString},
                                   {"writeDisposition", MemberType::kString},
                                   {"createDisposition", MemberType::kString},
                                   {"formatOptions", MemberType::kObject},
                                   {"queryParameters", MemberType::kObjects}},
                                  query));
  QueryRequest request;
  request.project = project;
  request.sql = query->value("query", "");
  if (request.sql.empty())
    return WithReason(Invalid("Required parameter is missing: query"), "required");
  if (request.sql.size() > kMaxQueryBytes) {
    return Invalid(
        "The query is too large. The maximum standard SQL query length is 1024.00K characters, "
        "including comments and white space characters.");
  }
  if (FlagOf(*query, "useLegacySql"))
    return Invalid("Legacy SQL is not supported by this local BigQuery; use GoogleSQL.");
  if (const auto it = query->find("defaultDataset");
      it != query->end() && it->contains("datasetId")) {
    request.default_dataset =
        DatasetName{it->value("projectId", project), it->value("datasetId", "")};
  }
  request.parameters = query->value("queryParameters", json::array());
  for (json& parameter : request.parameters) {
    HB_RETURN_IF_ERROR(CheckMembers({{"name", MemberType::kString},
                                     {"parameterType", MemberType::kObject},
                                     {"parameterValue", MemberType::kObject}},
                                    &parameter));
  }
  return request;
}

// Where the rows go, which only jobs.insert can say.
Status SetDestination(const json& query, const Catalog& catalog, QueryRequest* request) {
  const auto it = query.find("destinationTable");
  if (it == query.end()) return absl::OkStatus();
  request->destination = TableName{it->value("projectId", request->project),
                                   it->value("datasetId", ""), it->value("tableId", "")};
  request->write_disposition = query.value("writeDisposition", "WRITE_EMPTY");
  for (const char* known : {"WRITE_EMPTY", "WRITE_APPEND", "WRITE_TRUNCATE"}) {
    if (request->write_disposition != known) continue;
    if (query.value("createDisposition", "CREATE_IF_NEEDED") != "CREATE_NEVER")
      return absl::OkStatus();
    return catalog.GetTable(*request->destination).status();
  }
  return Invalid(absl::StrCat("Invalid value for writeDisposition: ", request->write_disposition));
}

// A number of the body, also as text. A float, a negative number or another type is an error: a
// page of less than no rows would come back for ever.
StatusOr<int64_t> NumberOf(const json& body, const char* key, int64_t otherwise) {
  const auto it = body.find(key);
  if (it == body.end() || it->is_null()) return otherwise;
  int64_t value = 0;
  const bool ok = it->is_string() ? absl::SimpleAtoi(it->get_ref<const std::string&>(), &value)
                                  : it->is_number_integer();
  if (ok && !it->is_string()) value = it->get<int64_t>();
  if (ok && value >= 0) return value;
  return Invalid(absl::StrCat("Invalid value for ", key, ": ",
                              it->dump(-1, ' ', false, json::error_handler_t::replace)));
}

json StatisticsOf(const QueryOutcome& outcome) {
  json query = {{"statementType", outcome.statement_type},
                {"totalBytesProcessed", "0"},
                {"totalBytesBilled", "0"},
                {"cacheHit", false}};
  if (outcome.affected_rows) {
    const std::string n = std::to_string(*outcome.affected_rows);
    query["numDmlAffectedRows"] = n;
    json dml;
    if (outcome.statement_type == "INSERT") dml["insertedRowCount"] = n;
    if (outcome.statement_type == "UPDATE") dml["updatedRowCount"] = n;
    if (outcome.statement_type == "DELETE" || outcome.statement_type == "TRUNCATE_TABLE")
      dml["deletedRowCount"] = n;
    if (!dml.is_null()) query["dmlStats"] = dml;
  }
  if (!outcome.ddl_operation.empty()) query["ddlOperationPerformed"] = outcome.ddl_operation;
  if (outcome.ddl_target) query["ddlTargetTable"] = TableReference(*outcome.ddl_target);
  if (!outcome.referenced.empty()) {
    for (const TableName& name : outcome.referenced)
      query["referencedTables"].push_back(TableReference(name));
  }
  return query;
}

json DescribeJob(const JobSnapshot& job) {
  json configuration = job.configuration;
  configuration["jobType"] = "QUERY";
  json& query = configuration["query"];
  query["useLegacySql"] = false;
  if (!query.contains("priority")) query["priority"] = "INTERACTIVE";
  if (!query.contains("destinationTable")) {
    query["destinationTable"] = TableReference({job.project, kResultsDataset, job.id});
  }
  json resource = {
      {"kind", "bigquery#job"},
      {"id", absl::StrCat(job.project, ":US.", job.id)},
      {"selfLink", absl::StrCat("/bigquery/v2/projects/", job.project, "/jobs/", job.id)},
      {"jobReference", JobReference(job)},
      {"configuration", std::move(configuration)},
      {"user_email", "local@hornbeam"}};
  json statistics = {{"creationTime", std::to_string(job.created_ms)},
                     {"totalBytesProcessed", "0"}};
  if (job.state != JobState::kPending) statistics["startTime"] = std::to_string(job.started_ms);
  json status = {{"state", job.state == JobState::kDone      ? "DONE"
                           : job.state == JobState::kRunning ? "RUNNING"
                                                             : "PENDING"}};
  if (job.state == JobState::kDone) {
    statistics["endTime"] = std::to_string(job.ended_ms);
    if (job.status.ok()) {
      statistics["query"] = StatisticsOf(job.outcome);
    } else {
      status["errorResult"] = ErrorProto(job.status);
      status["errors"] = json::array({status["errorResult"]});
    }
  }
  resource["statistics"] = std::move(statistics);
  resource["status"] = std::move(status);
  resource["etag"] = EtagOf(resource);
  return resource;
}

}  // namespace

// The answer of jobs.query and jobs.getQueryResults for a job, with rows [first, first + most).
Status RestApi::SetResults(const JobSnapshot& job, const char* kind, int64_t first, int64_t most,
                           bool int64_timestamps, HttpResponse* response) const {
  json body = {{"kind", kind},
               {"jobReference", JobReference(job)},
               {"jobComplete", job.state == JobState::kDone},
               {"totalBytesProcessed", "0"},
               {"cacheHit", false}};
  if (job.state != JobState::kDone) {
    SetBody(body, response);
    return absl::OkStatus();
  }
  HB_RETURN_IF_ERROR(job.status);
  body["queryId"] = job.id;
  if (job.outcome.affected_rows)
    body["numDmlAffectedRows"] = std::to_string(*job.outcome.affected_rows);
  TablePage page;
  if (job.outcome.destination) {
    HB_ASSIGN_OR_RETURN(page,
                        ReadTable(*job.outcome.destination, {}, first, most, int64_timestamps));
  } else if (job.outcome.rows) {
    const RowSet& rows = *job.outcome.rows;
    page.schema = rows.schema;
    page.total = rows.total_rows;
    HB_ASSIGN_OR_RETURN(page.count, PageOf(rows, first, most, int64_timestamps, &page.rows));
  } else {
    body["totalRows"] = "0";
    body["schema"] = json::object();
    SetBody(body, response);
    return absl::OkStatus();
  }
  body["schema"] = SchemaToJson(page.schema);
  body["totalRows"] = std::to_string(page.total);
  if (first + page.count < page.total) body["pageToken"] = std::to_string(first + page.count);
  SetBodyWithRows(body, page.rows, response);
  return absl::OkStatus();
}

Status RestApi::InsertJob(const HttpRequest& request, HttpResponse* response) {
  const std::string project = request.Path("project");
  HB_ASSIGN_OR_RETURN(json body, ParseBody(request));
  HB_RETURN_IF_ERROR(CheckMembers({{"configuration", MemberType::kObject},
                                   {"configuration.query", MemberType::kObject},
                                   {"jobReference", MemberType::kObject},
                                   {"jobReference.jobId", MemberType::kString}},
                                  &body));
  json configuration = body.value("configuration", json::object());
  const auto query = configuration.find("query");
  if (query == configuration.end()) {
    return Invalid(
        "Only query jobs are supported by this local BigQuery; write rows with insertAll or the "
        "Storage Write API.");
  }
  HB_ASSIGN_OR_RETURN(QueryRequest wanted, ToQueryRequest(project, &*query));
  HB_RETURN_IF_ERROR(SetDestination(*query, *p_.catalog, &wanted));
  HB_ASSIGN_OR_RETURN(const int64_t timeout, NumberOf(configuration, "jobTimeoutMs", 0));
  // What is wrong with the query itself is said at once.
  HB_ASSIGN_OR_RETURN(const QueryOutcome analyzed, p_.engine->Analyze(wanted));
  if (FlagOf(configuration, "dryRun")) {
    json statistics = StatisticsOf(analyzed);
    if (analyzed.rows) statistics["schema"] = SchemaToJson(analyzed.rows->schema);
    SetBody({{"kind", "bigquery#job"},
             {"configuration", configuration},
             {"jobReference", {{"projectId", project}, {"location", "US"}}},
             {"status", {{"state", "DONE"}}},
             {"statistics", {{"totalBytesProcessed", "0"}, {"query", statistics}}}},
            response);
    return absl::OkStatus();
  }
  const std::string id = body.value("jobReference", json::object()).value("jobId", "");
  HB_ASSIGN_OR_RETURN(JobSnapshot job,
                      p_.jobs->Insert(project, id, configuration, std::move(wanted),
                                      std::chrono::milliseconds(timeout)));
  HB_ASSIGN_OR_RETURN(job, p_.jobs->Wait(project, job.id, kInsertWait));
  SetBody(DescribeJob(job), response);
  return absl::OkStatus();
}

Status RestApi::GetJob(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const JobSnapshot job,
                      p_.jobs->Get(request.Path("project"), request.Path("job")));
  SetBody(DescribeJob(job), response);
  return absl::OkStatus();
}

Status RestApi::ListJobs(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const int64_t most, QueryNumber(request, "maxResults", 1000));
  HB_ASSIGN_OR_RETURN(const int64_t first, QueryNumber(request, "pageToken", 0));
  const auto all = p_.jobs->List(request.Path("project"));
  const auto total = static_cast<int64_t>(all.size());
  json list = json::array();
  int64_t at = first;
  for (; at < total && at < first + most; ++at) {
    json item = DescribeJob(all[static_cast<size_t>(at)]);
    item["state"] = item["status"]["state"];
    if (item["status"].contains("errorResult")) item["errorResult"] = item["status"]["errorResult"];
    list.push_back(std::move(item));
  }
  json body = {{"kind", "bigquery#jobList"}, {"jobs", std::move(list)}};
  if (at < total) body["nextPageToken"] = std::to_string(at);
  SetBody(body, response);
  return absl::OkStatus();
}

Status RestApi::CancelJob(const HttpRequest& request, HttpResponse* response) {
  HB_RETURN_IF_ERROR(p_.jobs->Cancel(request.Path("project"), request.Path("job")));
  HB_ASSIGN_OR_RETURN(const JobSnapshot job,
                      p_.jobs->Get(request.Path("project"), request.Path("job")));
  SetBody({{"kind", "bigquery#jobCancelResponse"}, {"job", DescribeJob(job)}}, response);
  return absl::OkStatus();
}

Status RestApi::DeleteJob(const HttpRequest& request, HttpResponse* response) {
  HB_RETURN_IF_ERROR(p_.jobs->Delete(request.Path("project"), request.Path("job")));
  response->status = 204;
  return absl::OkStatus();
}

Status RestApi::Query(const HttpRequest& request, HttpResponse* response) {
  const std::string project = request.Path("project");
  HB_ASSIGN_OR_RETURN(json body, ParseBody(request));
  HB_ASSIGN_OR_RETURN(QueryRequest wanted, ToQueryRequest(project, &body));
  if (FlagOf(body, "dryRun")) {
    HB_ASSIGN_OR_RETURN(const QueryOutcome analyzed, p_.engine->Analyze(wanted));
    json answer = {{"kind", "bigquery#queryResponse"},
                   {"jobReference", {{"projectId", project}, {"location", "US"}}},
                   {"jobComplete", true},
                   {"totalBytesProcessed", "0"},
                   {"cacheHit", false}};
    if (analyzed.rows) answer["schema"] = SchemaToJson(analyzed.rows->schema);
    SetBody(answer, response);
    return absl::OkStatus();
  }
  HB_ASSIGN_OR_RETURN(const int64_t wait, NumberOf(body, "timeoutMs", kDefaultTimeoutMs));
  const int64_t timeout = std::min(wait, kMaxTimeoutMs);
  HB_ASSIGN_OR_RETURN(const int64_t job_timeout, NumberOf(body, "jobTimeoutMs", 0));
  HB_ASSIGN_OR_RETURN(const int64_t most, NumberOf(body, "maxResults", kDefaultPage));
  const bool int64_timestamps =
      FlagOf(body.value("formatOptions", json::object()), "useInt64Timestamp");
  json configuration = {{"query", body}};
  for (const char* key : {"maxResults", "timeoutMs", "formatOptions", "requestId", "kind",
                          "location", "jobCreationMode"}) {
    configuration["query"].erase(key);
  }
  HB_ASSIGN_OR_RETURN(JobSnapshot job,
                      p_.jobs->Insert(project, "", std::move(configuration), std::move(wanted),
                                      std::chrono::milliseconds(job_timeout)));
  HB_ASSIGN_OR_RETURN(job, p_.jobs->Wait(project, job.id, std::chrono::milliseconds(timeout)));
  return SetResults(job, "bigquery#queryResponse", 0, most, int64_timestamps, response);
}

Status RestApi::GetQueryResults(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const int64_t timeout, QueryNumber(request, "timeoutMs", kDefaultTimeoutMs));
  HB_ASSIGN_OR_RETURN(const int64_t most, QueryNumber(request, "maxResults", kDefaultPage));
  HB_ASSIGN_OR_RETURN(const int64_t start_index, QueryNumber(request, "startIndex", 0));
  HB_ASSIGN_OR_RETURN(const int64_t first, QueryNumber(request, "pageToken", start_index));
  HB_ASSIGN_OR_RETURN(const JobSnapshot job,
                      p_.jobs->Wait(request.Path("project"), request.Path("job"),
                                    std::chrono::milliseconds(std::min(timeout, kMaxTimeoutMs))));
  return SetResults(job, "bigquery#getQueryResultsResponse", first, most,
                    QueryFlag(request, "formatOptions.useInt64Timestamp"), response);
}

}  // namespace hornbeam::services::bigquery
