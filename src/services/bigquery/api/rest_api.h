// BigQuery's REST API, v2: datasets, tables, tabledata and query jobs.
#ifndef HORNBEAM_SERVICES_BIGQUERY_API_REST_API_H_
#define HORNBEAM_SERVICES_BIGQUERY_API_REST_API_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/http_server.h"
#include "services/bigquery/core/catalog.h"
#include "services/bigquery/core/group_committer.h"
#include "services/bigquery/core/insert_id_window.h"
#include "services/bigquery/core/jobs.h"
#include "services/bigquery/core/query_engine.h"

namespace hornbeam::services::bigquery {

// Translates requests and answers; the rules are the core's. Requests that a page of another site
// made a browser send are refused. Thread-safe. What it is made of outlives it, and it outlives the
// server that it is registered with.
class RestApi {
 public:
  struct Parts {
    Catalog* catalog;
    GroupCommitter* committer;
    InsertIdWindow* insert_ids;
    QueryEngine* engine;
    Jobs* jobs;
  };
  explicit RestApi(const Parts& parts) : p_(parts) {}

  // The paths as they are and behind /bigquery/v2.
  void RegisterRoutes(HttpServer* server);

  int64_t requests() const { return requests_.load(std::memory_order_relaxed); }

 private:
  using Handler = Status (RestApi::*)(const HttpRequest&, HttpResponse*);
  void Add(HttpServer* server, std::string_view method, const std::string& pattern,
           Handler handler);

  // rest_datasets.cc
  Status ListProjects(const HttpRequest& request, HttpResponse* response);
  Status InsertDataset(const HttpRequest& request, HttpResponse* response);
  Status GetDataset(const HttpRequest& request, HttpResponse* response);
  Status ListDatasets(const HttpRequest& request, HttpResponse* response);
  Status UpdateDataset(const HttpRequest& request, HttpResponse* response);  // PATCH and PUT
  Status DeleteDataset(const HttpRequest& request, HttpResponse* response);

  // rest_tables.cc
  Status InsertTable(const HttpRequest& request, HttpResponse* response);
  Status GetTable(const HttpRequest& request, HttpResponse* response);
  Status ListTables(const HttpRequest& request, HttpResponse* response);
  Status UpdateTable(const HttpRequest& request, HttpResponse* response);  // PATCH and PUT
  Status DeleteTable(const HttpRequest& request, HttpResponse* response);
  StatusOr<nlohmann::json> Describe(const Table& table) const;

  // rest_tabledata.cc
  Status InsertAll(const HttpRequest& request, HttpResponse* response);
  Status ListTableData(const HttpRequest& request, HttpResponse* response);
  // Rows [first, first + most) of a table in wire form, as many as fit into a page.
  struct TablePage {
    std::string rows;
    int64_t count = 0;
    int64_t total = 0;
    TableSchema schema;
  };
  // Of all columns, or of those whose names are selected.
  StatusOr<TablePage> ReadTable(const TableName& name, const std::vector<std::string>& selected,
                                int64_t first, int64_t most, bool int64_timestamps) const;

  // rest_jobs.cc
  Status SetResults(const JobSnapshot& job, const char* kind, int64_t first, int64_t most,
                    bool int64_timestamps, HttpResponse* response) const;
  Status InsertJob(const HttpRequest& request, HttpResponse* response);
  Status GetJob(const HttpRequest& request, HttpResponse* response);
  Status ListJobs(const HttpRequest& request, HttpResponse* response);
  Status CancelJob(const HttpRequest& request, HttpResponse* response);
  Status DeleteJob(const HttpRequest& request, HttpResponse* response);
  Status Query(const HttpRequest& request, HttpResponse* response);
  Status GetQueryResults(const HttpRequest& request, HttpResponse* response);

  const Parts p_;
  std::atomic<int64_t> requests_{0};
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_API_REST_API_H_
