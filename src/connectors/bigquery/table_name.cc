#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hornbeam/io/bigquery_write_options.h"

namespace hornbeam::io {

StatusOr<TableName> TableName::Parse(const std::string& text) {
  TableName name;
  const std::vector<std::string> path = absl::StrSplit(text, '/');
  if (path.size() == 6 && path[0] == "projects" && path[2] == "datasets" && path[4] == "tables") {
    name = {path[1], path[3], path[5]};
  } else if (path.size() == 1) {
    // A project may have a colon ("example.com:project"), a dataset and a table have neither it nor
    // a dot.
    const size_t table_dot = text.rfind('.');
    const size_t dataset_at = table_dot == std::string::npos || table_dot == 0
                                  ? std::string::npos
                                  : text.find_last_of(".:", table_dot - 1);
    if (dataset_at != std::string::npos) {
      name = {text.substr(0, dataset_at), text.substr(dataset_at + 1, table_dot - dataset_at - 1),
              text.substr(table_dot + 1)};
    }
  }
  if (name.project.empty() || name.dataset.empty() || name.table.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a table: write project.dataset.table"));
  }
  return name;
}

std::string TableName::Resource() const {
  return absl::StrCat("projects/", project, "/datasets/", dataset, "/tables/", table);
}

std::string TableName::ToString() const { return absl::StrCat(project, ".", dataset, ".", table); }

}  // namespace hornbeam::io
