#include "console/console_server.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/http_client.h"
#include "base/http_origin.h"
#include "console/job_state_json.h"
#include "console/job_totals.h"
#include "console/prometheus.h"
#include "console/web_files.h"

namespace hornbeam::console {
namespace {

using nlohmann::json;

constexpr int kQueryTimeoutSeconds = 120;
constexpr int kMaxQueryRows = 1000;
constexpr int kMaxListed = 100;
// Of a job's state: kMaxSteps steps with long names have less.
constexpr size_t kMaxStateBytes = size_t{1} << 20;
constexpr size_t kMaxQueryBytes = size_t{2} << 20;
constexpr size_t kMaxCommandBytes = size_t{64} << 10;

json JobJson(const KnownJob& job) {
  json object = ToJson(job.snapshot);
  object["id"] = job.id;
  object["responding"] = job.responding;
  object["lost"] = job.lost;
  object["updated_at_us"] = job.updated_at_us;
  return object;
}

// A job in a list: sums in place of its steps.
json SummaryJson(const KnownJob& job) {
  const JobTotals totals = Totals(job.snapshot);
  json object = JobJson(job);
  object.erase("steps");
  object["elements_read"] = totals.elements_read;
  object["failed"] = totals.failed;
  object["dropped_late"] = totals.dropped_late;
  return object;
}

int HttpCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument: return 400;
    case absl::StatusCode::kNotFound: return 404;
    case absl::StatusCode::kFailedPrecondition: return 409;
    case absl::StatusCode::kResourceExhausted: return 429;
    case absl::StatusCode::kUnavailable: return 503;
    default: return 500;
  }
}

void AnswerError(int code, absl::string_view message, HttpResponse* response) {
  response->status = code;
  response->body =
      JsonText({{"error", {{"code", code}, {"message", std::string(message)}}}}) + "\n";
}

void AnswerError(const Status& status, HttpResponse* response) {
  AnswerError(HttpCode(status.code()), status.message(), response);
}

void AnswerJson(const json& body, HttpResponse* response) {
  response->headers["Cache-Control"] = "no-store";
  response->body = JsonText(body) + "\n";
}

// The first page of a list of BigQuery's.
StatusOr<json> List(const HttpClient& bigquery, const std::string& path, const char* field) {
  HB_ASSIGN_OR_RETURN(const HttpClient::Reply reply,
                      bigquery.Get(absl::StrCat(path, "?maxResults=", kMaxListed)));
  if (reply.status != 200) {
    return absl::UnavailableError(
        absl::StrCat("BigQuery answers HTTP ", reply.status, " to ", path));
  }
  const json answer = json::parse(reply.body, nullptr, false);
  const auto it = answer.find(field);
  return it == answer.end() ? json::array() : *it;
}

std::string_view ContentType(std::string_view name) {
  const absl::string_view file(name.data(), name.size());
  if (absl::EndsWith(file, ".html")) return "text/html; charset=UTF-8";
  if (absl::EndsWith(file, ".css")) return "text/css; charset=UTF-8";
  if (absl::EndsWith(file, ".js")) return "text/javascript; charset=UTF-8";
  return "application/octet-stream";
}

}  // namespace

ConsoleServer::ConsoleServer(ConsoleOptions options) : options_(std::move(options)) {
  Route("GET", "/api/v1/jobs", &ConsoleServer::ListJobs);
  Route("GET", "/api/v1/jobs/{id}", &ConsoleServer::GetJob);
  Route("POST", "/api/v1/jobs/{id}/state", &ConsoleServer::ReportState, kMaxStateBytes);
  Route("POST", "/api/v1/jobs/{id}:cancel", &ConsoleServer::CancelJob, kMaxCommandBytes);
  Route("POST", "/api/v1/jobs/{id}:drain", &ConsoleServer::DrainJob, kMaxCommandBytes);
  Route("GET", "/api/v1/subscriptions", &ConsoleServer::Subscriptions);
  Route("GET", "/api/v1/tables", &ConsoleServer::Tables);
  Route("POST", "/api/v1/query", &ConsoleServer::Query, kMaxQueryBytes);
  Route("GET", "/metrics", &ConsoleServer::Metrics);
  Route("GET", "/healthz", &ConsoleServer::Health);
  Route("GET", "/{file=**}", &ConsoleServer::WebFile);
}

void ConsoleServer::Route(const char* method, const char* pattern, Answer answer,
                          size_t max_body_bytes) {
  http_.Route(
      method, pattern,
      [this, answer](const HttpRequest& request, HttpResponse* response) {
        response->headers["X-Content-Type-Options"] = "nosniff";
        if (IsForeign(request)) {
          AnswerError(403, "the console answers only its own pages, at 127.0.0.1 or localhost",
                      response);
          return;
        }
        (this->*answer)(request, response);
      },
      max_body_bytes);
}

void ConsoleServer::WebFile(const HttpRequest& request, HttpResponse* response) {
  const std::string& name = request.Path("file");
  const auto& files = EmbeddedWebFiles();
  const auto it = files.find(name.empty() ? "index.html" : std::string_view(name));
  if (it == files.end()) {
    AnswerError(404, absl::StrCat("there is nothing at ", request.path), response);
    return;
  }
  response->content_type = std::string(ContentType(it->first));
  response->headers["Cache-Control"] = "no-cache";
  response->headers["Content-Security-Policy"] =
      "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";
  response->body = std::string(it->second);
}

void ConsoleServer::ListJobs(const HttpRequest& request, HttpResponse* response) {
  json jobs = json::array();
  for (const KnownJob& job : options_.jobs->List()) jobs.push_back(SummaryJson(job));
  AnswerJson({{"now_us", options_.clock->NowMicros()}, {"jobs", std::move(jobs)}}, response);
}

void ConsoleServer::GetJob(const HttpRequest& request, HttpResponse* response) {
  const StatusOr<KnownJob> job = options_.jobs->Get(request.Path("id"));
  if (!job.ok()) return AnswerError(job.status(), response);
  AnswerJson(JobJson(*job), response);
}

void ConsoleServer::ReportState(const HttpRequest& request, HttpResponse* response) {
  StatusOr<engine::JobSnapshot> snapshot =
      JobSnapshotFromJson(json::parse(request.body, nullptr, false));
  if (!snapshot.ok()) return AnswerError(snapshot.status(), response);
  const StatusOr<JobCommands> commands =
      options_.jobs->Report(request.Path("id"), *std::move(snapshot));
  if (!commands.ok()) return AnswerError(commands.status(), response);
  AnswerJson({{"cancel", commands->cancel}, {"drain", commands->drain}}, response);
}

void ConsoleServer::CancelJob(const HttpRequest& request, HttpResponse* response) {
  const Status status = options_.jobs->Cancel(request.Path("id"));
  if (!status.ok()) return AnswerError(status, response);
  AnswerJson(json::object(), response);
}

void ConsoleServer::DrainJob(const HttpRequest& request, HttpResponse* response) {
  const Status status = options_.jobs->Drain(request.Path("id"));
  if (!status.ok()) return AnswerError(status, response);
  AnswerJson(json::object(), response);
}

void ConsoleServer::Subscriptions(const HttpRequest& request, HttpResponse* response) {
  json subscriptions = json::array();
  if (options_.subscriptions) {
    for (const SubscriptionBacklog& backlog : options_.subscriptions()) {
      subscriptions.push_back({{"name", backlog.name},
                               {"messages", backlog.messages},
                               {"bytes", backlog.bytes},
                               {"oldest_age_ms", backlog.oldest_age_ms},
                               {"readers", backlog.readers}});
    }
  }
  AnswerJson({{"subscriptions", std::move(subscriptions)}}, response);
}

void ConsoleServer::Query(const HttpRequest& request, HttpResponse* response) {
  if (options_.bigquery_endpoint.empty())
    return AnswerError(503, "there is no BigQuery service to ask", response);
  const json asked = json::parse(request.body, nullptr, false);
  const auto query = asked.find("query");
  if (query == asked.end() || !query->is_string()) {
    return AnswerError(400, "send a JSON object such as {\"query\": \"SELECT 1\"}", response);
  }
  const json body = {{"query", *query},
                     {"useLegacySql", false},
                     {"maxResults", kMaxQueryRows},
                     {"timeoutMs", kQueryTimeoutSeconds * 1000}};
  const StatusOr<HttpClient::Reply> reply =
      HttpClient(options_.bigquery_endpoint)
          .PostJson(absl::StrCat("/bigquery/v2/projects/", options_.project, "/queries"),
                    body.dump(), kQueryTimeoutSeconds);
  if (!reply.ok()) return AnswerError(reply.status(), response);
  response->status = reply->status;
  response->body = reply->body;
}

void ConsoleServer::Tables(const HttpRequest& request, HttpResponse* response) {
  if (options_.bigquery_endpoint.empty()) return AnswerJson({{"tables", json::array()}}, response);
  const HttpClient bigquery(options_.bigquery_endpoint);
  const std::string datasets_path =
      absl::StrCat("/bigquery/v2/projects/", options_.project, "/datasets");
  const StatusOr<json> datasets = List(bigquery, datasets_path, "datasets");
  if (!datasets.ok()) return AnswerError(datasets.status(), response);
  json names = json::array();
  for (const json& dataset : *datasets) {
    const std::string id = dataset.at("datasetReference").at("datasetId").get<std::string>();
    const StatusOr<json> tables =
        List(bigquery, absl::StrCat(datasets_path, "/", id, "/tables"), "tables");
    if (!tables.ok()) continue;  // deleted in between
    for (const json& table : *tables) {
      names.push_back({{"dataset", id}, {"table", table.at("tableReference").at("tableId")}});
    }
  }
  AnswerJson({{"tables", std::move(names)}}, response);
}

void ConsoleServer::Metrics(const HttpRequest& request, HttpResponse* response) {
  response->content_type = "text/plain; version=0.0.4; charset=utf-8";
  response->body = PrometheusText(options_.jobs->List(), options_.clock->NowMicros());
  if (options_.service_metrics) response->body += options_.service_metrics();
}

void ConsoleServer::Health(const HttpRequest& request, HttpResponse* response) {
  response->content_type = "text/plain; charset=UTF-8";
  response->body = "ok\n";
}

}  // namespace hornbeam::console
