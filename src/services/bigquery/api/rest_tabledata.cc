#include <simdjson.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/bigquery/api/json_row_decoder.h"
#include "services/bigquery/api/rest_api.h"
#include "services/bigquery/api/rest_json.h"
#include "services/bigquery/core/errors.h"
#include "services/bigquery/store/row_json.h"

namespace hornbeam::services::bigquery {

using nlohmann::json;

namespace {

constexpr int64_t kDefaultPage = 100'000;

struct InputRow {
  int64_t index = 0;
  std::string_view insert_id;
  simdjson::dom::element value;
  bool has_value = false;
};

struct RowErrors {
  int64_t index;
  std::vector<JsonRowError> errors;
};

// Lays `rows` out in chunks; the bad ones are reported.
std::vector<RowChunk> DecodeRows(const Table& table, const std::vector<InputRow>& rows,
                                 bool ignore_unknown, std::vector<RowErrors>* errors) {
  std::vector<RowChunk> chunks;
  const size_t capacity = RowChunk::Capacity();
  chunks.reserve(rows.size() / capacity + 1);
  for (size_t first = 0; first < rows.size(); first += capacity) {
    const size_t n = std::min(capacity, rows.size() - first);
    chunks.emplace_back(table.schema, table.types, n);
    for (size_t i = 0; i < n; ++i) {
      const InputRow& row = rows[first + i];
      std::vector<JsonRowError> wrong;
      if (row.has_value) {
        wrong = DecodeJsonRow(row.value, ignore_unknown, chunks.back().columns(), i);
      } else {
        wrong.push_back({"invalid", "", "The row has no 'json'."});
      }
      if (!wrong.empty()) errors->push_back({row.index, std::move(wrong)});
    }
  }
  return chunks;
}

void AppendRowErrors(const RowErrors& row, std::string* out) {
  absl::StrAppend(out, out->empty() ? "" : ",", "{\"index\":", row.index, ",\"errors\":[");
  for (size_t i = 0; i < row.errors.size(); ++i) {
    absl::StrAppend(out, i ? "," : "", "{\"reason\":\"", row.errors[i].reason, "\",\"location\":");
    AppendJsonString(row.errors[i].location, out);
    *out += ",\"debugInfo\":\"\",\"message\":";
    AppendJsonString(row.errors[i].message, out);
    *out += '}';
  }
  *out += "]}";
}

}  // namespace

Status RestApi::InsertAll(const HttpRequest& request, HttpResponse* response) {
  const TableName name{request.Path("project"), request.Path("dataset"), request.Path("table")};
  HB_ASSIGN_OR_RETURN(const auto table, p_.catalog->GetTable(name));
  if (table->is_view())
    return Invalid(absl::StrCat("Cannot add rows to a view: ", name.ToString()));
  if (table->schema.fields.empty()) return Invalid("The destination table has no schema.");
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object body;
  if (parser.parse(request.body).get(body) != simdjson::SUCCESS) {
    return WithReason(Invalid("Parse error: the body of the request is not a JSON object."),
                      "parseError");
  }
  const auto flag = [&](const char* key) {
    bool value = false;
    return body[key].get(value) == simdjson::SUCCESS && value;
  };
  const bool skip_invalid = flag("skipInvalidRows");
  const bool ignore_unknown = flag("ignoreUnknownValues");
  if (std::string_view suffix;
      body["templateSuffix"].get(suffix) == simdjson::SUCCESS && !suffix.empty()) {
    return Invalid(
        "templateSuffix is not supported by this local BigQuery; create the table first.");
  }
  simdjson::dom::array list;
  if (body["rows"].get(list) != simdjson::SUCCESS || list.size() == 0)
    return Invalid("No rows present in the request.");

  const std::string table_key = name.ToString();
  std::vector<InputRow> rows;
  std::vector<std::string_view> added_ids;
  int64_t total = 0;
  for (const simdjson::dom::element item : list) {
    InputRow row;
    row.index = total++;
    if (std::string_view id; item["insertId"].get(id) == simdjson::SUCCESS) row.insert_id = id;
    row.has_value = item["json"].get(row.value) == simdjson::SUCCESS;
    if (!row.insert_id.empty()) {
      // Seen within the last minute: written already, so there is nothing to do.
      if (!p_.insert_ids->Add(table_key, row.insert_id)) continue;
      added_ids.push_back(row.insert_id);
    }
    rows.push_back(row);
  }
  const auto forget_ids = [&] {
    for (const std::string_view id : added_ids) p_.insert_ids->Remove(table_key, id);
  };

  std::vector<RowErrors> errors;
  Append append;
  append.chunks = DecodeRows(*table, rows, ignore_unknown, &errors);
  if (!errors.empty()) {
    std::vector<InputRow> good;
    auto next = errors.begin();
    for (const InputRow& row : rows) {
      if (next != errors.end() && next->index == row.index) {
        ++next;
        if (!row.insert_id.empty()) p_.insert_ids->Remove(table_key, row.insert_id);
      } else {
        good.push_back(row);
      }
    }
    append.chunks.clear();
    if (skip_invalid) {
      std::vector<RowErrors> none;
      append.chunks = DecodeRows(*table, good, ignore_unknown, &none);
    } else {
      for (const InputRow& row : good) errors.push_back({row.index, {{"stopped", "", ""}}});
      std::sort(errors.begin(), errors.end(),
                [](const auto& a, const auto& b) { return a.index < b.index; });
      good.clear();
      forget_ids();
    }
    rows = std::move(good);
  }
  if (!rows.empty()) {
    append.table = table;
    append.rows = static_cast<int64_t>(rows.size());
    const AppendOutcome outcome = p_.committer->SubmitAndWait(std::move(append));
    if (!outcome.status.ok()) {
      forget_ids();
      return outcome.status;
    }
  }
  std::string error_list;
  for (const RowErrors& row : errors) AppendRowErrors(row, &error_list);
  response->body = "{\"kind\":\"bigquery#tableDataInsertAllResponse\"";
  if (!errors.empty()) absl::StrAppend(&response->body, ",\"insertErrors\":[", error_list, "]");
  response->body += '}';
  return absl::OkStatus();
}

StatusOr<RestApi::TablePage> RestApi::ReadTable(const TableName& name,
                                                const std::vector<std::string>& selected,
                                                int64_t first, int64_t most,
                                                bool int64_timestamps) const {
  HB_ASSIGN_OR_RETURN(const auto table, p_.catalog->GetTable(name));
  if (table->is_view()) {
    return Invalid(
        absl::StrCat("Cannot list a table of type VIEW: ", name.ToString(), "; query it."));
  }
  TablePage page;
  page.schema = table->schema;
  std::vector<bool> is_selected(table->schema.fields.size(), selected.empty());
  for (const std::string& column : selected) {
    const int at = table->schema.Find(column);
    if (at < 0) return Invalid(absl::StrCat("Invalid field in selectedFields: ", column));
    is_selected[static_cast<size_t>(at)] = true;
  }
  std::string columns;  // in the table's order, as Google does
  for (size_t i = 0; i < is_selected.size(); ++i) {
    if (!is_selected[i]) continue;
    absl::StrAppend(&columns, columns.empty() ? "" : ", ",
                    QuoteIdentifier(table->schema.fields[i].name));
  }
  const auto if_there = [&](const Status& status) {
    return absl::IsAborted(status) ? TableNotFound(name) : status;  // dropped since
  };
  HB_ASSIGN_OR_RETURN(const auto connection, p_.catalog->database().Connect());
  HB_RETURN_IF_ERROR(connection->Run("BEGIN TRANSACTION READ ONLY"));
  auto count = connection->Query("SELECT count(*) FROM " + PhysicalTable(name));
  HB_RETURN_IF_ERROR(if_there(count.status()));
  page.total = std::stoll(count->AllText()[0][0]);
  if (columns.empty() || first >= page.total || most <= 0) return page;
  auto stream =
      connection->Stream(absl::StrCat("SELECT ", columns, " FROM ", PhysicalTable(name), " LIMIT ",
                                      std::min(most, kDefaultPage), " OFFSET ", first));
  HB_RETURN_IF_ERROR(if_there(stream.status()));
  while (page.rows.size() < kMaxPageBytes) {
    HB_ASSIGN_OR_RETURN(const auto chunk, stream->Next());
    if (chunk == nullptr) break;
    std::vector<LogicalType> types;
    for (idx_t i = 0; i < stream->column_count(); ++i) types.push_back(stream->ColumnType(i));
    RowSetBuilder builder({}, std::move(types), {});
    HB_RETURN_IF_ERROR(builder.Add(*chunk));
    const auto rows = builder.Finish();
    HB_ASSIGN_OR_RETURN(const int64_t n,
                        PageOf(*rows, 0, rows->total_rows, int64_timestamps, &page.rows));
    page.count += n;
  }
  return page;
}

Status RestApi::ListTableData(const HttpRequest& request, HttpResponse* response) {
  TableName name{request.Path("project"), request.Path("dataset"), request.Path("table")};
  HB_ASSIGN_OR_RETURN(const int64_t most, QueryNumber(request, "maxResults", kDefaultPage));
  HB_ASSIGN_OR_RETURN(const int64_t start_index, QueryNumber(request, "startIndex", 0));
  HB_ASSIGN_OR_RETURN(const int64_t first, QueryNumber(request, "pageToken", start_index));
  const bool int64_timestamps = QueryFlag(request, "formatOptions.useInt64Timestamp");
  json body = {{"kind", "bigquery#tableDataList"}};
  if (name.dataset == kResultsDataset) {
    HB_ASSIGN_OR_RETURN(const JobSnapshot job, p_.jobs->Get(name.project, name.table));
    if (job.outcome.destination) {
      name = *job.outcome.destination;
    } else {
      if (!job.outcome.rows) return TableNotFound(name);
      std::string text;
      HB_ASSIGN_OR_RETURN(const int64_t n,
                          PageOf(*job.outcome.rows, first, most, int64_timestamps, &text));
      body["totalRows"] = std::to_string(job.outcome.rows->total_rows);
      if (first + n < job.outcome.rows->total_rows) body["pageToken"] = std::to_string(first + n);
      SetBodyWithRows(body, text, response);
      return absl::OkStatus();
    }
  }
  const std::vector<std::string> selected =
      absl::StrSplit(request.Query("selectedFields").value_or(""), ',', absl::SkipEmpty());
  HB_ASSIGN_OR_RETURN(const TablePage page,
                      ReadTable(name, selected, first, most, int64_timestamps));
  body["totalRows"] = std::to_string(page.total);
  if (first + page.count < page.total && page.count > 0)
    body["pageToken"] = std::to_string(first + page.count);
  SetBodyWithRows(body, page.rows, response);
  return absl::OkStatus();
}

}  // namespace hornbeam::services::bigquery
