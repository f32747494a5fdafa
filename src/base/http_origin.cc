#include "base/http_origin.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hornbeam {
namespace {

// The host of "host", "host:port" or "[v6]:port".
absl::string_view HostName(absl::string_view authority) {
  if (absl::StartsWith(authority, "[")) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool IsOurs(absl::string_view host) {
  for (const absl::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (absl::EqualsIgnoreCase(host, name)) return true;
  }
  return absl::EndsWithIgnoreCase(host, ".localhost") ||
         absl::EndsWithIgnoreCase(host, ".googleapis.com");
}

}  // namespace

bool IsForeign(const HttpRequest& request) {
  const auto origin = request.Header("origin");
  const auto host = request.Header("host");
  if (!host) return origin.has_value();
  if (!IsOurs(HostName(*host))) return true;
  return origin.has_value() && *origin != absl::StrCat("http://", *host);
}

}  // namespace hornbeam
