#include "cli/query_client.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/http_client.h"
#include "cli/text_table.h"

namespace hornbeam::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kWaitMs = 10'000;
constexpr int kTimeoutSeconds = 60;
constexpr int64_t kPageRows = 10'000;

std::string Dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// As one segment of a URL's path.
std::string Segment(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", byte);
    }
  }
  return out;
}

StatusOr<json> Parse(const HttpClient& client, const StatusOr<HttpClient::Reply>& reply) {
  if (!reply.ok()) {
    return Status(reply.status().code(),
                  absl::StrCat(reply.status().message(),
                               "; start the services with `hornbeam up`, or name another address "
                               "with --endpoint"));
  }
  json answer = json::parse(reply->body, nullptr, false);
  if (!answer.is_object()) {
    return absl::UnavailableError(
        absl::StrCat("what answers at ", client.endpoint(),
                     " is no BigQuery; name its REST address with --endpoint"));
  }
  if (reply->status == 200) return answer;
  const std::string message =
      answer.value(json::json_pointer("/error/message"), absl::StrCat("HTTP ", reply->status));
  return reply->status == 404 ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

bool Is(const json& field, std::initializer_list<absl::string_view> types) {
  const std::string type = field.value("type", "");
  return std::find(types.begin(), types.end(), type) != types.end();
}

constexpr char kTimestampForPeople[] = "%E4Y-%m-%d %H:%M:%E*S UTC";
constexpr char kTimestampInJson[] = "%E4Y-%m-%dT%H:%M:%E*SZ";

// A TIMESTAMP as BigQuery sends it: microseconds since 1970, or seconds with a fraction or an
// exponent.
std::string TimestampText(const std::string& value, const char* format) {
  int64_t us = 0;
  double seconds = 0;
  absl::Time time;
  if (absl::SimpleAtoi(value, &us)) {
    time = absl::FromUnixMicros(us);
  } else if (absl::SimpleAtod(value, &seconds)) {
    time = absl::FromUnixMicros(static_cast<int64_t>(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5)));
  } else {
    return value;
  }
  return absl::FormatTime(format, time, absl::UTCTimeZone());
}

// A value as BigQuery sends it (numbers in strings, records as {"f": ...}) as plain JSON.
ordered_json Plain(const json& value, const json& field, bool element = false) {
  if (value.is_null()) return nullptr;
  if (!element && field.value("mode", "") == "REPEATED") {
    ordered_json list = ordered_json::array();
    for (const json& item : value) list.push_back(Plain(item.at("v"), field, true));
    return list;
  }
  if (Is(field, {"RECORD", "STRUCT"})) {
    ordered_json record = ordered_json::object();
    const json& fields = field.at("fields");
    for (size_t i = 0; i < fields.size(); ++i) {
      record[fields[i].at("name").get<std::string>()] =
          Plain(value.at("f").at(i).at("v"), fields[i]);
    }
    return record;
  }
  if (!value.is_string()) return ordered_json(value);
  const std::string text = value.get<std::string>();
  int64_t integer = 0;
  double number = 0;
  if (Is(field, {"INTEGER", "INT64"}) && absl::SimpleAtoi(text, &integer)) return integer;
  if (Is(field, {"FLOAT", "FLOAT64"}) && absl::SimpleAtod(text, &number)) {
    // JSON has no Inf and NaN: those stay text.
    return std::isfinite(number) ? ordered_json(number) : ordered_json(text);
  }
  if (Is(field, {"BOOLEAN", "BOOL"})) return text == "true";
  if (Is(field, {"TIMESTAMP"})) return TimestampText(text, kTimestampInJson);
  return text;
}

std::string CellText(const json& value, const json& field) {
  if (value.is_null()) return "NULL";
  const bool nested = field.value("mode", "") == "REPEATED" || Is(field, {"RECORD", "STRUCT"});
  if (nested) return Dump(Plain(value, field));
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  return Is(field, {"TIMESTAMP"}) ? TimestampText(text, kTimestampForPeople) : text;
}

const json& FieldsOf(const json& answer) {
  static const json* const kNone = new json(json::array());
  const auto schema = answer.find("schema");
  if (schema == answer.end() || !schema->contains("fields")) return *kNone;
  return schema->at("fields");
}

const json& RowsOf(const json& answer) {
  static const json* const kNone = new json(json::array());
  const auto rows = answer.find("rows");
  return rows == answer.end() ? *kNone : *rows;
}

int64_t TotalRows(const json& answer) {
  int64_t total = static_cast<int64_t>(RowsOf(answer).size());
  if (const auto it = answer.find("totalRows"); it != answer.end() && it->is_string()) {
    (void)absl::SimpleAtoi(it->get<std::string>(), &total);
  }
  return total;
}

}  // namespace

StatusOr<json> QueryClient::Run(const std::string& sql, int64_t max_rows) const {
  if (project_.empty())
    return absl::InvalidArgumentError("the project has no name; name it with --project");
  const HttpClient client(endpoint_);
  const std::string path = absl::StrCat("/bigquery/v2/projects/", Segment(project_), "/queries");
  const json request = {{"query", sql},
                        {"useLegacySql", false},
                        {"timeoutMs", kWaitMs},
                        {"maxResults", std::min(max_rows, kPageRows)},
                        {"formatOptions", {{"useInt64Timestamp", true}}}};
  HB_ASSIGN_OR_RETURN(
      json answer,
      Parse(client,
            client.PostJson(path, request.dump(-1, ' ', false, json::error_handler_t::replace),
                            kTimeoutSeconds)));
  for (;;) {
    const bool complete = answer.value("jobComplete", true);
    const std::string token = complete ? answer.value("pageToken", "") : "";
    const int64_t missing = max_rows - static_cast<int64_t>(RowsOf(answer).size());
    if (complete && (token.empty() || missing <= 0)) return answer;
    const std::string job = answer.at("jobReference").at("jobId").get<std::string>();
    HB_ASSIGN_OR_RETURN(
        json page,
        Parse(client, client.Get(absl::StrCat(path, "/", job,
                                              "?formatOptions.useInt64Timestamp=true&timeoutMs=",
                                              kWaitMs, "&maxResults=", std::min(missing, kPageRows),
                                              token.empty() ? "" : "&pageToken=", token),
                                 kTimeoutSeconds)));
    if (complete) {
      json rows = std::move(answer["rows"]);
      for (json& row : page["rows"]) rows.push_back(std::move(row));
      page["rows"] = std::move(rows);
    }
    answer = std::move(page);
  }
}

std::string ResultTable(const json& answer) {
  const json& fields = FieldsOf(answer);
  const json& rows = RowsOf(answer);
  if (fields.empty()) {
    const std::string affected = answer.value("numDmlAffectedRows", "");
    return affected.empty() ? "Done.\n" : absl::StrCat(affected, " rows changed.\n");
  }
  std::vector<TextTable::Column> columns;
  for (const json& field : fields) {
    columns.push_back({.name = field.at("name").get<std::string>(),
                       .right_aligned = field.value("mode", "") != "REPEATED" &&
                                        Is(field, {"INTEGER", "INT64", "FLOAT", "FLOAT64",
                                                   "NUMERIC", "BIGNUMERIC"})});
  }
  TextTable table(std::move(columns));
  for (const json& row : rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < fields.size(); ++i)
      cells.push_back(CellText(row.at("f").at(i).at("v"), fields[i]));
    table.Add(std::move(cells));
  }
  const int64_t shown = static_cast<int64_t>(rows.size());
  const int64_t total = TotalRows(answer);
  return absl::StrCat(
      table.ToString(), Grouped(total), total == 1 ? " row" : " rows",
      shown < total ? absl::StrCat(", the first ", Grouped(shown), " shown; --max-rows shows more")
                    : "",
      "\n");
}

std::string ResultJson(const json& answer) {
  const json& fields = FieldsOf(answer);
  std::string out = "[";
  const char* separator = "\n";
  for (const json& row : RowsOf(answer)) {
    ordered_json object = ordered_json::object();
    for (size_t i = 0; i < fields.size(); ++i) {
      object[fields[i].at("name").get<std::string>()] = Plain(row.at("f").at(i).at("v"), fields[i]);
    }
    absl::StrAppend(&out, std::exchange(separator, ",\n"), "  ", Dump(object));
  }
  return absl::StrCat(out, RowsOf(answer).empty() ? "" : "\n", "]\n");
}

}  // namespace hornbeam::cli
