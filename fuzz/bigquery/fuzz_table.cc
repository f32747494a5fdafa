#include "fuzz_table.h"

#include <nlohmann/json.hpp>

#include "services/bigquery/store/row_json.h"

namespace hornbeam::services::bigquery {

std::shared_ptr<const Table> FuzzTable() {
  static const std::shared_ptr<const Table>* const made = [] {
    auto table = std::make_shared<Table>();
    auto schema = SchemaFromJson(nlohmann::json::parse(R"({"fields":[
      {"name":"id","type":"INT64","mode":"REQUIRED"},{"name":"s","type":"STRING"},{"name":"b","type":"BYTES"},
      {"name":"f","type":"FLOAT64"},{"name":"o","type":"BOOL"},{"name":"n","type":"NUMERIC"},{"name":"g","type":"BIGNUMERIC"},
      {"name":"ts","type":"TIMESTAMP"},{"name":"da","type":"DATE"},{"name":"ti","type":"TIME"},{"name":"dt","type":"DATETIME"},
      {"name":"j","type":"JSON"},{"name":"l","type":"INT64","mode":"REPEATED"},
      {"name":"r","type":"RECORD","mode":"REPEATED","fields":[{"name":"x","type":"STRING","mode":"REQUIRED"},
        {"name":"ys","type":"INT64","mode":"REPEATED"},{"name":"q","type":"RECORD","fields":[{"name":"z","type":"DATE"}]}]}]})"));
    HB_CHECK(schema.ok());
    table->schema = *schema;
    auto database = Database::Open(":memory:", Database::Options());
    HB_CHECK(database.ok());
    auto connection = (*database)->Connect();
    std::string columns;
    for (const Field& field : table->schema.fields)
      columns += (columns.empty() ? "" : ", ") + DuckDbColumn(field);
    HB_CHECK((*connection)->Run("CREATE TABLE t (" + columns + ")").ok());
    auto described = (*connection)->Describe("SELECT * FROM t");
    HB_CHECK(described.ok());
    for (auto& [name, type] : *described) table->types.push_back(std::move(type));
    return new std::shared_ptr<const Table>(std::move(table));
  }();
  return *made;
}

void ReadBack(RowChunk& chunk) {
  std::string text;
  for (idx_t row = 0; row < chunk.rows(); ++row)
    AppendRowJson(chunk.get(), row, true, &text).IgnoreError();
}

}  // namespace hornbeam::services::bigquery
