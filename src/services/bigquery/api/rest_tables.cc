#include "absl/strings/str_cat.h"
#include "services/bigquery/api/body_members.h"
#include "services/bigquery/api/rest_api.h"
#include "services/bigquery/api/rest_json.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

using nlohmann::json;

namespace {

constexpr int64_t kDefaultPage = 1000;

TableName NameOf(const HttpRequest& request) {
  return {request.Path("project"), request.Path("dataset"), request.Path("table")};
}

json Reference(const TableName& name) {
  return {{"projectId", name.project}, {"datasetId", name.dataset}, {"tableId", name.table}};
}

// Everything but the number of rows: also what the etag is made of.
json DescribeStatic(const Table& table) {
  json resource = table.properties;
  resource["kind"] = "bigquery#table";
  resource["id"] = table.name.ToString();
  resource["tableReference"] = Reference(table.name);
  if (!table.schema.fields.empty()) resource["schema"] = SchemaToJson(table.schema);
  resource["creationTime"] = std::to_string(table.created_ms);
  resource["lastModifiedTime"] = std::to_string(table.modified_ms);
  resource["type"] = table.is_view() ? "VIEW" : "TABLE";
  resource["location"] = "US";
  resource["selfLink"] = absl::StrCat("/bigquery/v2/projects/", table.name.project, "/datasets/",
                                      table.name.dataset, "/tables/", table.name.table);
  resource["etag"] = EtagOf(resource);
  return resource;
}

Status CheckTableMembers(json* body) {
  return CheckMembers({{"tableReference", MemberType::kObject},
                       {"tableReference.tableId", MemberType::kString},
                       {"schema", MemberType::kObject},
                       {"view", MemberType::kObject},
                       {"view.query", MemberType::kString},
                       {"timePartitioning", MemberType::kObject},
                       {"timePartitioning.field", MemberType::kString},
                       {"clustering", MemberType::kObject},
                       {"clustering.fields", MemberType::kStrings}},
                      body);
}

Status CheckPartitioning(const json& properties, const TableSchema& schema) {
  if (const auto it = properties.find("timePartitioning"); it != properties.end()) {
    const std::string field = it->value("field", "");
    const int at = schema.Find(field);
    if (!field.empty() && at < 0) {
      return Invalid(absl::StrCat(
          "The field specified for partitioning cannot be found in the schema: ", field));
    }
    if (at >= 0) {
      const FieldType type = schema.fields[static_cast<size_t>(at)].type;
      if (type != FieldType::kDate && type != FieldType::kTimestamp &&
          type != FieldType::kDatetime) {
        return Invalid(
            "The field specified for time partitioning can only be of type TIMESTAMP, DATE or "
            "DATETIME.");
      }
    }
  }
  if (const auto it = properties.find("clustering"); it != properties.end()) {
    for (const json& field : it->value("fields", json::array())) {
      if (schema.Find(field.get<std::string>()) < 0) {
        return Invalid(
            absl::StrCat("The field specified for clustering cannot be found in the schema: ",
                         field.get<std::string>()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<json> RestApi::Describe(const Table& table) const {
  json resource = DescribeStatic(table);
  if (!table.is_view()) {
    HB_ASSIGN_OR_RETURN(auto connection, p_.catalog->database().Connect());
    auto count = connection->Query("SELECT count(*) FROM " + PhysicalTable(table.name));
    // Dropped since it was looked up.
    if (absl::IsAborted(count.status())) return TableNotFound(table.name);
    HB_RETURN_IF_ERROR(count.status());
    resource["numRows"] = count->AllText()[0][0];
  }
  return resource;
}

Status RestApi::InsertTable(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(json body, ParseBody(request));
  HB_RETURN_IF_ERROR(CheckTableMembers(&body));
  Catalog::NewTable table;
  table.name = {request.Path("project"), request.Path("dataset"), ""};
  if (const auto reference = body.find("tableReference"); reference != body.end()) {
    table.name.table = reference->value("tableId", "");
  }
  if (table.name.table.empty()) {
    return WithReason(Invalid("Required parameter is missing: tableReference.tableId"), "required");
  }
  for (const char* kind :
       {"externalDataConfiguration", "materializedView", "snapshotDefinition", "cloneDefinition"}) {
    if (body.contains(kind))
      return Invalid(absl::StrCat(kind, " is not supported by this local BigQuery."));
  }
  table.properties = UserProperties(body);
  HB_RETURN_IF_ERROR(p_.catalog->GetDataset(table.name.dataset_name()).status());
  if (const auto view = table.properties.find("view"); view != table.properties.end()) {
    QueryRequest query;
    query.project = table.name.project;
    query.sql = view->value("query", "");
    HB_ASSIGN_OR_RETURN(auto translated, p_.engine->TranslateQuery(query));
    table.as_query = std::move(translated.first);
    table.schema = std::move(translated.second);
  } else if (const auto schema = body.find("schema"); schema != body.end()) {
    HB_ASSIGN_OR_RETURN(table.schema, SchemaFromJson(*schema));
  }
  HB_RETURN_IF_ERROR(CheckPartitioning(table.properties, table.schema));
  HB_ASSIGN_OR_RETURN(const auto made, p_.catalog->CreateTable(std::move(table)));
  json resource = DescribeStatic(*made);
  if (!made->is_view()) resource["numRows"] = "0";
  SetBody(resource, response);
  return absl::OkStatus();
}

Status RestApi::GetTable(const HttpRequest& request, HttpResponse* response) {
  const TableName name = NameOf(request);
  if (name.dataset == kResultsDataset) {
    HB_ASSIGN_OR_RETURN(const JobSnapshot job, p_.jobs->Get(name.project, name.table));
    json resource = {{"kind", "bigquery#table"},
                     {"id", name.ToString()},
                     {"tableReference", Reference(name)},
                     {"type", "TABLE"},
                     {"location", "US"}};
    if (job.outcome.destination) {
      HB_ASSIGN_OR_RETURN(const auto table, p_.catalog->GetTable(*job.outcome.destination));
      HB_ASSIGN_OR_RETURN(const json described, Describe(*table));
      resource["schema"] = described.value("schema", json::object());
      resource["numRows"] = described.value("numRows", "0");
    } else if (job.outcome.rows) {
      resource["schema"] = SchemaToJson(job.outcome.rows->schema);
      resource["numRows"] = std::to_string(job.outcome.rows->total_rows);
    }
    SetBody(resource, response);
    return absl::OkStatus();
  }
  HB_ASSIGN_OR_RETURN(const auto table, p_.catalog->GetTable(name));
  HB_ASSIGN_OR_RETURN(const json resource, Describe(*table));
  SetBody(resource, response);
  return absl::OkStatus();
}

Status RestApi::ListTables(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const int64_t most, QueryNumber(request, "maxResults", kDefaultPage));
  HB_ASSIGN_OR_RETURN(const int64_t first, QueryNumber(request, "pageToken", 0));
  const DatasetName dataset{request.Path("project"), request.Path("dataset")};
  HB_RETURN_IF_ERROR(p_.catalog->GetDataset(dataset).status());
  const auto all = p_.catalog->ListTables(dataset);
  const auto total = static_cast<int64_t>(all.size());
  json list = json::array();
  int64_t at = first;
  for (; at < total && at < first + most; ++at) {
    json item = DescribeStatic(*all[static_cast<size_t>(at)]);
    for (const char* key :
         {"schema", "etag", "selfLink", "lastModifiedTime", "description", "location"})
      item.erase(key);
    list.push_back(std::move(item));
  }
  json body = {{"kind", "bigquery#tableList"}, {"tables", std::move(list)}, {"totalItems", total}};
  if (at < total) body["nextPageToken"] = std::to_string(at);
  SetBody(body, response);
  return absl::OkStatus();
}

Status RestApi::UpdateTable(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const json body, ParseBody(request));
  HB_ASSIGN_OR_RETURN(const auto current, p_.catalog->GetTable(NameOf(request)));
  HB_RETURN_IF_ERROR(CheckIfMatch(request, DescribeStatic(*current)["etag"]));
  json properties = request.method == "PATCH" ? current->properties : json::object();
  properties.merge_patch(body);
  HB_RETURN_IF_ERROR(CheckTableMembers(&properties));
  properties = UserProperties(properties);
  if (current->is_view() &&
      properties.value("view", json()) != current->properties.value("view", json())) {
    // Another query is another view.
    Catalog::NewTable table;
    table.name = current->name;
    table.replace = true;
    table.properties = properties;
    QueryRequest query;
    query.project = table.name.project;
    query.sql = properties.value("view", json::object()).value("query", "");
    HB_ASSIGN_OR_RETURN(auto translated, p_.engine->TranslateQuery(query));
    table.as_query = std::move(translated.first);
    table.schema = std::move(translated.second);
    HB_ASSIGN_OR_RETURN(const auto view, p_.catalog->CreateTable(std::move(table)));
    HB_ASSIGN_OR_RETURN(const json resource, Describe(*view));
    SetBody(resource, response);
    return absl::OkStatus();
  }
  TableSchema schema;
  const bool has_schema =
      body.contains("schema") && body["schema"].is_object() && body["schema"].contains("fields");
  if (has_schema) {
    HB_ASSIGN_OR_RETURN(schema, SchemaFromJson(body["schema"]));
  }
  HB_RETURN_IF_ERROR(CheckPartitioning(properties, has_schema ? schema : current->schema));
  const auto table =
      p_.catalog->UpdateTable(*current, has_schema ? &schema : nullptr, std::move(properties));
  // Somebody else was quicker. Without a precondition it is as if the request came later.
  if (absl::IsAborted(table.status())) {
    if (request.Header("if-match")) return absl::FailedPreconditionError("Precondition Failed");
    return UpdateTable(request, response);
  }
  HB_RETURN_IF_ERROR(table.status());
  HB_ASSIGN_OR_RETURN(const json resource, Describe(**table));
  SetBody(resource, response);
  return absl::OkStatus();
}

Status RestApi::DeleteTable(const HttpRequest& request, HttpResponse* response) {
  HB_RETURN_IF_ERROR(p_.catalog->DeleteTable(NameOf(request)));
  response->status = 204;
  return absl::OkStatus();
}

}  // namespace hornbeam::services::bigquery
