#include "services/bigquery/api/rest_json.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

using nlohmann::json;

namespace {

constexpr int64_t kMaxQueryNumber = int64_t{1} << 60;
// Of brackets within brackets. A schema of BigQuery's has 15 levels at most; what copies and prints
// JSON recurses, so depth without a bound would be stack without a bound.
constexpr size_t kMaxJsonDepth = 256;

// Looks at brackets only: whether the rest is JSON is the parser's to say.
bool IsTooDeep(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

std::string Text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

StatusOr<json> ParseBody(const HttpRequest& request) {
  if (request.body.empty()) return json::object();
  if (IsTooDeep(request.body)) {
    return WithReason(
        Invalid(absl::StrCat("Parse error: the body of the request is nested more than ",
                             kMaxJsonDepth, " levels deep.")),
        "parseError");
  }
  json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) {
    return WithReason(Invalid("Parse error: the body of the request is not a JSON object."),
                      "parseError");
  }
  return body;
}

void SetBody(const json& body, HttpResponse* response) { response->body = Text(body); }

void SetBodyWithRows(const json& body, const std::string& rows, HttpResponse* response) {
  response->body = Text(body);
  response->body.pop_back();
  absl::StrAppend(&response->body, ",\"rows\":[", rows, "]}");
}

void SetError(const Status& status, HttpResponse* response) {
  const GoogleError error = ToGoogleError(status);
  json item = {{"message", error.message}, {"domain", "global"}, {"reason", error.reason}};
  if (!error.location.empty()) {
    item["location"] = error.location;
    item["locationType"] = "parameter";
  }
  response->status = error.http_code;
  SetBody({{"error",
            {{"code", error.http_code},
             {"message", error.message},
             {"errors", json::array({item})},
             {"status", error.canonical_code}}}},
          response);
}

bool FlagOf(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return false;
  if (it->is_boolean()) return it->get<bool>();
  return it->is_string() && absl::EqualsIgnoreCase(it->get<std::string>(), "true");
}

bool QueryFlag(const HttpRequest& request, std::string_view name) {
  return absl::EqualsIgnoreCase(request.Query(name).value_or(""), "true");
}

StatusOr<int64_t> QueryNumber(const HttpRequest& request, std::string_view name,
                              int64_t otherwise) {
  const auto text = request.Query(name);
  if (!text || text->empty()) return otherwise;
  int64_t value;
  if (!absl::SimpleAtoi(*text, &value) || value < 0) {
    return Invalid(absl::StrCat("Invalid value for ", absl::string_view(name.data(), name.size()),
                                ": ", *text));
  }
  // What comes after this many is out of the reach of any page, and sums with it do not overflow.
  return std::min(value, kMaxQueryNumber);
}

std::string EtagOf(const json& resource) {
  const std::string text = Text(resource);
  return absl::StrFormat("%08x%08x", Checksum(text), Checksum(text + "e"));
}

Status CheckIfMatch(const HttpRequest& request, const std::string& etag) {
  auto wanted = request.Header("if-match");
  if (!wanted || *wanted == "*") return absl::OkStatus();
  wanted->erase(std::remove(wanted->begin(), wanted->end(), '"'), wanted->end());
  if (*wanted == etag) return absl::OkStatus();
  return absl::FailedPreconditionError("Precondition Failed");
}

json UserProperties(const json& body) {
  json properties = body;
  for (const char* computed :
       {"kind", "etag", "id", "selfLink", "tableReference", "datasetReference", "schema", "numRows",
        "numBytes", "numLongTermBytes", "numActiveLogicalBytes", "numTotalLogicalBytes",
        "creationTime", "lastModifiedTime", "type", "streamingBuffer", "numPhysicalBytes",
        "numTimeTravelPhysicalBytes"}) {
    properties.erase(computed);
  }
  // null is "not set".
  for (auto it = properties.begin(); it != properties.end();)
    it = it->is_null() ? properties.erase(it) : std::next(it);
  return properties;
}

StatusOr<int64_t> PageOf(const RowSet& rows, int64_t first, int64_t most, bool int64_timestamps,
                         std::string* out) {
  constexpr int64_t kStep = 1000;
  const int64_t end = most < rows.total_rows - first ? first + most : rows.total_rows;
  int64_t at = first;
  while (at < end && out->size() < kMaxPageBytes) {
    const int64_t n = std::min(kStep, end - at);
    if (!out->empty()) *out += ',';
    HB_RETURN_IF_ERROR(rows.AppendJson(at, n, int64_timestamps, out));
    at += n;
  }
  return std::max<int64_t>(0, at - first);
}

}  // namespace hornbeam::services::bigquery
