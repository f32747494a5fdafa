#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/bigquery/api/body_members.h"
#include "services/bigquery/api/rest_api.h"
#include "services/bigquery/api/rest_json.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {

using nlohmann::json;

namespace {

constexpr int64_t kDefaultPage = 1000;

DatasetName NameOf(const HttpRequest& request) {
  return {request.Path("project"), request.Path("dataset")};
}

json Reference(const DatasetName& name) {
  return {{"projectId", name.project}, {"datasetId", name.dataset}};
}

json DescribeDataset(const Dataset& dataset) {
  json resource = dataset.properties;
  resource["kind"] = "bigquery#dataset";
  resource["id"] = dataset.name.ToString();
  resource["datasetReference"] = Reference(dataset.name);
  if (!resource.contains("location")) resource["location"] = "US";
  if (!resource.contains("access")) {
    resource["access"] = json::array({{{"role", "OWNER"}, {"specialGroup", "projectOwners"}}});
  }
  resource["creationTime"] = std::to_string(dataset.created_ms);
  resource["lastModifiedTime"] = std::to_string(dataset.modified_ms);
  resource["type"] = "DEFAULT";
  resource["selfLink"] = absl::StrCat("/bigquery/v2/projects/", dataset.name.project, "/datasets/",
                                      dataset.name.dataset);
  resource["etag"] = EtagOf(resource);
  return resource;
}

}  // namespace

Status RestApi::ListProjects(const HttpRequest&, HttpResponse* response) {
  SetBody({{"kind", "bigquery#projectList"}, {"projects", json::array()}, {"totalItems", 0}},
          response);
  return absl::OkStatus();
}

Status RestApi::InsertDataset(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(json body, ParseBody(request));
  HB_RETURN_IF_ERROR(CheckMembers({{"datasetReference", MemberType::kObject},
                                   {"datasetReference.datasetId", MemberType::kString}},
                                  &body));
  DatasetName name{request.Path("project"), ""};
  if (const auto reference = body.find("datasetReference"); reference != body.end()) {
    name.dataset = reference->value("datasetId", "");
  }
  if (name.dataset.empty()) {
    return WithReason(Invalid("Required parameter is missing: datasetReference.datasetId"),
                      "required");
  }
  HB_ASSIGN_OR_RETURN(const Dataset dataset, p_.catalog->CreateDataset(name, UserProperties(body)));
  SetBody(DescribeDataset(dataset), response);
  return absl::OkStatus();
}

Status RestApi::GetDataset(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const Dataset dataset, p_.catalog->GetDataset(NameOf(request)));
  SetBody(DescribeDataset(dataset), response);
  return absl::OkStatus();
}

Status RestApi::ListDatasets(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const int64_t most, QueryNumber(request, "maxResults", kDefaultPage));
  HB_ASSIGN_OR_RETURN(const int64_t first, QueryNumber(request, "pageToken", 0));
  const std::vector<Dataset> all = p_.catalog->ListDatasets(request.Path("project"));
  const auto total = static_cast<int64_t>(all.size());
  json list = json::array();
  int64_t at = first;
  for (; at < total && at < first + most; ++at) {
    const json full = DescribeDataset(all[static_cast<size_t>(at)]);
    json item = {{"kind", "bigquery#dataset"},
                 {"id", full["id"]},
                 {"datasetReference", full["datasetReference"]},
                 {"location", full["location"]}};
    for (const char* key : {"labels", "friendlyName"}) {
      if (full.contains(key)) item[key] = full[key];
    }
    list.push_back(std::move(item));
  }
  json body = {{"kind", "bigquery#datasetList"}, {"datasets", std::move(list)}};
  if (at < total) body["nextPageToken"] = std::to_string(at);
  SetBody(body, response);
  return absl::OkStatus();
}

Status RestApi::UpdateDataset(const HttpRequest& request, HttpResponse* response) {
  HB_ASSIGN_OR_RETURN(const json body, ParseBody(request));
  HB_ASSIGN_OR_RETURN(const Dataset current, p_.catalog->GetDataset(NameOf(request)));
  HB_RETURN_IF_ERROR(CheckIfMatch(request, DescribeDataset(current)["etag"]));
  json properties = request.method == "PATCH" ? current.properties : json::object();
  properties.merge_patch(body);
  HB_ASSIGN_OR_RETURN(const Dataset dataset, p_.catalog->SetDatasetProperties(
                                                 NameOf(request), UserProperties(properties)));
  SetBody(DescribeDataset(dataset), response);
  return absl::OkStatus();
}

Status RestApi::DeleteDataset(const HttpRequest& request, HttpResponse* response) {
  HB_RETURN_IF_ERROR(
      p_.catalog->DeleteDataset(NameOf(request), QueryFlag(request, "deleteContents")));
  response->status = 204;
  return absl::OkStatus();
}

}  // namespace hornbeam::services::bigquery
