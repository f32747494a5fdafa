#include "connectors/google/access_token.h"

#include <httplib.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace hornbeam::connectors {

StatusOr<std::string> GetAccessToken() {
  if (const char* const token = std::getenv("GOOGLE_OAUTH_ACCESS_TOKEN")) return std::string(token);
  httplib::Client metadata("http://metadata.google.internal");
  metadata.set_connection_timeout(2);
  metadata.set_read_timeout(2);
  const httplib::Result result =
      metadata.Get("/computeMetadata/v1/instance/service-accounts/default/token",
                   httplib::Headers{{"Metadata-Flavor", "Google"}});
  if (result && result->status == 200) {
    const auto answer = nlohmann::json::parse(result->body, nullptr, false);
    if (answer.is_object() && answer.contains("access_token") &&
        answer["access_token"].is_string()) {
      return answer["access_token"].get<std::string>();
    }
  }
  return absl::UnauthenticatedError(
      "no access token for Google's REST APIs: set GOOGLE_OAUTH_ACCESS_TOKEN to what 'gcloud auth "
      "print-access-token' prints");
}

}  // namespace hornbeam::connectors
