// The names of BigQuery's resources, and the names DuckDB keeps them under.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_NAMES_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_NAMES_H_

#include <compare>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hornbeam::services::bigquery {

struct DatasetName {
  std::string project;
  std::string dataset;

  // "project:dataset", as Google's messages write it.
  std::string ToString() const { return project + ":" + dataset; }
  auto operator<=>(const DatasetName&) const = default;
};

struct TableName {
  std::string project;
  std::string dataset;
  std::string table;

  DatasetName dataset_name() const { return {project, dataset}; }
  // "project:dataset.table", as Google's messages write it.
  std::string ToString() const { return project + ":" + dataset + "." + table; }
  // "projects/p/datasets/d/tables/t", as the Storage API writes it.
  std::string ResourceName() const;
  auto operator<=>(const TableName&) const = default;
};

// INVALID_ARGUMENT with Google's wording when the id has characters that BigQuery does not allow.
Status CheckDatasetId(std::string_view id);
Status CheckTableId(std::string_view id);

// "projects/p/datasets/d/tables/t"; INVALID_ARGUMENT otherwise.
StatusOr<TableName> ParseTableResource(std::string_view resource);

// A write stream's name taken apart. `stream` is "_default" for both forms of the default stream
// (".../tables/t/streams/_default" and ".../tables/t/_default").
struct StreamName {
  TableName table;
  std::string stream;

  bool is_default() const { return stream == "_default"; }
};
StatusOr<StreamName> ParseStreamResource(std::string_view resource);

// BigQuery tells names apart by case and DuckDB does not: a name with upper-case letters gets a
// suffix
// "~" + the positions of these letters (hexadecimal bit mask, four positions a digit), which no
// BigQuery name can have.
std::string PhysicalName(std::string_view name);
// The DuckDB schema of a dataset: "project.dataset" (a dataset id has no dot, so this is unique),
// as PhysicalName.
std::string PhysicalSchema(const DatasetName& name);

// "name" with quotes doubled.
std::string QuoteIdentifier(std::string_view name);
// 'text' with quotes doubled.
std::string QuoteLiteral(std::string_view text);
// "schema"."table", quoted.
std::string PhysicalTable(const TableName& name);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_NAMES_H_
