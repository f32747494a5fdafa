// A small HTTP/1.1 server for the REST services and the console.
#ifndef HORNBEAM_BASE_HTTP_SERVER_H_
#define HORNBEAM_BASE_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace httplib {
class ContentReader;
struct Request;
struct Response;
}  // namespace httplib

namespace hornbeam {

// One request, whole: the body has been read and decompressed. Header names are lower case.
struct HttpRequest {
  std::string method;
  // As sent, still percent-encoded, without the query.
  std::string path;
  // What the {names} of the route's pattern matched, percent-decoded.
  std::map<std::string, std::string, std::less<>> path_parameters;
  // The query's parameters, percent-decoded; the first of each name.
  std::map<std::string, std::string, std::less<>> query;
  std::map<std::string, std::string, std::less<>> headers;
  std::string body;

  // A {name} of the pattern; empty when there is none.
  const std::string& Path(std::string_view name) const;
  std::optional<std::string> Query(std::string_view name) const;
  std::optional<std::string> Header(std::string_view lower_case_name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json; charset=UTF-8";
  std::map<std::string, std::string> headers;
  std::string body;
};

// Serves on 127.0.0.1 with a thread per active connection (as many as there are connections, up to
// a bound; further connections wait). Handlers run on those threads, concurrently. Route before
// Start; Start and Stop from one thread. The destructor stops.
//
// Bounds: a head of 64 kB that comes within ten seconds (431); a body, unpacked, of what its route
// allows (413), and of a gigabyte in all requests at once (503). Range is left to the handlers: an
// answer goes out as they give it.
class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, HttpResponse*)>;
  static constexpr size_t kDefaultMaxBodyBytes = size_t{64} << 20;

  HttpServer();
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `pattern` is a path whose segments are literal, or `{name}` (one segment that is not empty), or
  // `{name}suffix` such as `{topic}:publish`, or, as the last one, `{name=**}` (all that remains,
  // perhaps nothing). The first route that fits wins; `method` is GET, POST, PUT, PATCH, DELETE or
  // `*`. A client that can only POST may name the method in X-HTTP-Method-Override. HEAD is
  // answered by the GET routes. `max_body_bytes` is at most kDefaultMaxBodyBytes.
  void Route(std::string_view method, std::string_view pattern, Handler handler,
             size_t max_body_bytes = kDefaultMaxBodyBytes);

  // Binds 127.0.0.1:`port` (0: a free one, see port()) and begins to serve. UNAVAILABLE when the
  // port is busy, PERMISSION_DENIED when the system does not allow it; the message says which port
  // and what to do.
  Status Start(int port);

  // The bound port; 0 before Start.
  int port() const { return port_; }

  // Takes no more connections, lets running handlers finish and returns when all threads are gone
  // (idle kept-alive connections can take up to two seconds to notice). Idempotent.
  void Stop();

 private:
  struct Impl;
  struct RouteEntry {
    std::string method;
    std::vector<std::string> segments;
    Handler handler;
    size_t max_body_bytes;
  };

  // The route of a request, whose path parameters it sets; null when there is none.
  const RouteEntry* FindRoute(HttpRequest* request) const;
  void Serve(const httplib::Request& in, httplib::Response& out,
             const httplib::ContentReader* reader);

  std::vector<RouteEntry> routes_;
  std::unique_ptr<Impl> impl_;
  int port_ = 0;
};

// Decodes %XX; when `plus_is_space`, + as well. A malformed escape is kept as it is.
std::string PercentDecode(std::string_view text, bool plus_is_space = false);

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_HTTP_SERVER_H_
