#include "base/http_client.h"

#include <httplib.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hornbeam {
namespace {

constexpr int kConnectTimeoutSeconds = 5;

template <typename Send>
StatusOr<HttpClient::Reply> Request(const std::string& endpoint, int timeout_s, const Send& send) {
  const size_t colon = endpoint.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(endpoint.substr(colon + 1), &port)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", endpoint, "' is no address; write it as host:port"));
  }
  httplib::Client client(endpoint.substr(0, colon), port);
  client.set_connection_timeout(kConnectTimeoutSeconds);
  client.set_read_timeout(timeout_s);
  client.set_write_timeout(timeout_s);
  const httplib::Result result = send(client);
  if (!result) {
    return absl::UnavailableError(absl::StrCat("nothing answers at ", endpoint, " (",
                                               httplib::to_string(result.error()), ")"));
  }
  return HttpClient::Reply{.status = result->status, .body = result->body};
}

}  // namespace

HttpClient::HttpClient(std::string endpoint) : endpoint_(absl::StripPrefix(endpoint, "http://")) {}

StatusOr<HttpClient::Reply> HttpClient::Get(const std::string& path, int timeout_s) const {
  return Request(endpoint_, timeout_s,
                 [&](httplib::Client& client) { return client.Get(path.c_str()); });
}

StatusOr<HttpClient::Reply> HttpClient::PostJson(const std::string& path, const std::string& body,
                                                 int timeout_s) const {
  return Request(endpoint_, timeout_s, [&](httplib::Client& client) {
    return client.Post(path.c_str(), body, "application/json");
  });
}

}  // namespace hornbeam
