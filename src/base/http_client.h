// Small HTTP/1.1 requests to a server at host:port, for the command line and the console.
#ifndef HORNBEAM_BASE_HTTP_CLIENT_H_
#define HORNBEAM_BASE_HTTP_CLIENT_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace hornbeam {

// Thread-safe: every request has a connection of its own.
class HttpClient {
 public:
  struct Reply {
    int status = 0;
    std::string body;
  };

  // `endpoint` is host:port, as a ready file has it; perhaps with "http://" before it.
  explicit HttpClient(std::string endpoint);

  // Any answer of the server, errors included, is a Reply. UNAVAILABLE when there is none: nothing
  // listens, or it took longer than `timeout_s`. INVALID_ARGUMENT when the endpoint has another
  // form. `path` begins with '/'.
  StatusOr<Reply> Get(const std::string& path, int timeout_s = 30) const;
  StatusOr<Reply> PostJson(const std::string& path, const std::string& body,
                           int timeout_s = 30) const;

  const std::string& endpoint() const { return endpoint_; }

 private:
  std::string endpoint_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_HTTP_CLIENT_H_
