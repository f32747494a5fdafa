// The console: a page that shows the jobs at work, and the HTTP/JSON interface that page, command
// line and job processes share. docs/cli.md lists its addresses.
#ifndef HORNBEAM_CONSOLE_CONSOLE_SERVER_H_
#define HORNBEAM_CONSOLE_CONSOLE_SERVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/http_server.h"
#include "base/status.h"
#include "console/job_registry.h"

namespace hornbeam::console {

// What waits in a subscription of the local Pub/Sub.
struct SubscriptionBacklog {
  std::string name;
  int64_t messages = 0;
  int64_t bytes = 0;
  int64_t oldest_age_ms = 0;
  int readers = 0;
};

struct ConsoleOptions {
  JobRegistry* jobs = nullptr;  // outlives the server
  Clock* clock = Clock::System();
  std::function<std::string()> service_metrics;  // further text for /metrics; may be empty
  std::function<std::vector<SubscriptionBacklog>()>
      subscriptions;  // for GET /api/v1/subscriptions; may be empty
  std::string
      bigquery_endpoint;  // host:port of the REST service that /api/v1/query asks; empty: none
  std::string project;    // that queries run in
};

// Requests that a page of another site makes a browser send (with a foreign Origin or Host) are
// refused with 403.
class ConsoleServer {
 public:
  explicit ConsoleServer(ConsoleOptions options);

  Status Start(int port) { return http_.Start(port); }
  int port() const { return http_.port(); }
  void Stop() { http_.Stop(); }

 private:
  using Answer = void (ConsoleServer::*)(const HttpRequest&, HttpResponse*);

  void Route(const char* method, const char* pattern, Answer answer, size_t max_body_bytes = 0);
  void WebFile(const HttpRequest& request, HttpResponse* response);
  void ListJobs(const HttpRequest& request, HttpResponse* response);
  void GetJob(const HttpRequest& request, HttpResponse* response);
  void ReportState(const HttpRequest& request, HttpResponse* response);
  void CancelJob(const HttpRequest& request, HttpResponse* response);
  void DrainJob(const HttpRequest& request, HttpResponse* response);
  void Subscriptions(const HttpRequest& request, HttpResponse* response);
  void Tables(const HttpRequest& request, HttpResponse* response);
  void Query(const HttpRequest& request, HttpResponse* response);
  void Metrics(const HttpRequest& request, HttpResponse* response);
  void Health(const HttpRequest& request, HttpResponse* response);

  const ConsoleOptions options_;
  HttpServer http_;
};

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_CONSOLE_SERVER_H_
