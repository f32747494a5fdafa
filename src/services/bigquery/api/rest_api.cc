#include "services/bigquery/api/rest_api.h"

#include "absl/strings/str_cat.h"
#include "base/http_origin.h"
#include "services/bigquery/api/rest_json.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

void RestApi::Add(HttpServer* server, std::string_view method, const std::string& pattern,
                  Handler handler) {
  const auto serve = [this, handler](const HttpRequest& request, HttpResponse* response) {
    requests_.fetch_add(1, std::memory_order_relaxed);
    if (IsForeign(request)) {
      SetError(absl::PermissionDeniedError(
                   "Access Denied: this local BigQuery answers programs of this machine, not pages "
                   "of other sites; ask it at 127.0.0.1 or localhost"),
               response);
      return;
    }
    Status status;
    try {
      status = (this->*handler)(request, response);
    } catch (const nlohmann::json::exception&) {
      // The handlers look at what they read; this is for what they have overlooked.
      status =
          Invalid("Invalid request: a member of the body has another type than the API gives it.");
    }
    if (!status.ok()) SetError(status, response);
  };
  server->Route(method, "/bigquery/v2" + pattern, serve);
  server->Route(method, pattern, serve);
}

void RestApi::RegisterRoutes(HttpServer* server) {
  const std::string dataset = "/projects/{project}/datasets/{dataset}";
  const std::string table = dataset + "/tables/{table}";
  const std::string job = "/projects/{project}/jobs/{job}";
  Add(server, "GET", "/projects", &RestApi::ListProjects);

  Add(server, "POST", "/projects/{project}/datasets", &RestApi::InsertDataset);
  Add(server, "GET", "/projects/{project}/datasets", &RestApi::ListDatasets);
  Add(server, "GET", dataset, &RestApi::GetDataset);
  Add(server, "PATCH", dataset, &RestApi::UpdateDataset);
  Add(server, "PUT", dataset, &RestApi::UpdateDataset);
  Add(server, "DELETE", dataset, &RestApi::DeleteDataset);

  Add(server, "POST", dataset + "/tables", &RestApi::InsertTable);
  Add(server, "GET", dataset + "/tables", &RestApi::ListTables);
  Add(server, "GET", table, &RestApi::GetTable);
  Add(server, "PATCH", table, &RestApi::UpdateTable);
  Add(server, "PUT", table, &RestApi::UpdateTable);
  Add(server, "DELETE", table, &RestApi::DeleteTable);
  Add(server, "POST", table + "/insertAll", &RestApi::InsertAll);
  Add(server, "GET", table + "/data", &RestApi::ListTableData);

  Add(server, "POST", "/projects/{project}/queries", &RestApi::Query);
  Add(server, "GET", "/projects/{project}/queries/{job}", &RestApi::GetQueryResults);
  Add(server, "POST", "/projects/{project}/jobs", &RestApi::InsertJob);
  Add(server, "GET", "/projects/{project}/jobs", &RestApi::ListJobs);
  Add(server, "GET", job, &RestApi::GetJob);
  Add(server, "POST", job + "/cancel", &RestApi::CancelJob);
  Add(server, "DELETE", job + "/delete", &RestApi::DeleteJob);
}

}  // namespace hornbeam::services::bigquery
