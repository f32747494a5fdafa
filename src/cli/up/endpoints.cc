#include "cli/up/endpoints.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::cli {
namespace {

struct Field {
  const char* key;
  std::string Endpoints::*member;
};
constexpr Field kFields[] = {
    {"pubsub", &Endpoints::pubsub},
    {"bigquery", &Endpoints::bigquery},
    {"bigquery-grpc", &Endpoints::bigquery_grpc},
    {"storage", &Endpoints::storage},
    {"jobs", &Endpoints::jobs},
    {"console", &Endpoints::console},
};

std::string Local(int port) { return absl::StrCat("127.0.0.1:", port); }

}  // namespace

std::string ToJson(const Endpoints& endpoints) {
  nlohmann::ordered_json json;
  for (const Field& field : kFields) {
    const std::string& value = endpoints.*field.member;
    json[field.key] = value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  }
  return json.dump(2) + "\n";
}

StatusOr<Endpoints> EndpointsFromJson(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return absl::InvalidArgumentError("a list of endpoints must be a JSON object");
  Endpoints endpoints;
  for (const Field& field : kFields) {
    const auto it = json.find(field.key);
    if (it == json.end() || it->is_null()) continue;
    if (!it->is_string())
      return absl::InvalidArgumentError(
          absl::StrCat("endpoint '", field.key, "' must be a string"));
    endpoints.*field.member = it->get<std::string>();
  }
  return endpoints;
}

std::string EndpointsFile(const std::string& data_dir) {
  return absl::StrCat(data_dir, "/endpoints.json");
}

StatusOr<Endpoints> FindEndpoints(FileSystem& fs, const std::string& data_dir) {
  const std::string path = EndpointsFile(data_dir);
  const StatusOr<std::string> text = ReadFile(fs, path);
  if (absl::IsNotFound(text.status())) {
    return Endpoints{.pubsub = Local(kPubSubPort),
                     .bigquery = Local(kBigQueryPort),
                     .bigquery_grpc = Local(kBigQueryGrpcPort),
                     .storage = "",
                     .jobs = "",
                     .console = Local(kConsolePort)};
  }
  if (!text.ok()) return text.status();
  StatusOr<Endpoints> endpoints = EndpointsFromJson(*text);
  if (!endpoints.ok()) {
    return absl::DataLossError(absl::StrCat("file '", path, "' is damaged (",
                                            endpoints.status().message(),
                                            "); delete it and start `hornbeam up` again"));
  }
  return endpoints;
}

}  // namespace hornbeam::cli
