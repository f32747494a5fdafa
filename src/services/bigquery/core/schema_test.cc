#include "services/bigquery/core/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TableSchema Schema(const char* text) {
  auto schema = SchemaFromJson(json::parse(text));
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() ? *schema : TableSchema{};
}

TEST(SchemaTest, BothSpellingsAndTheirDuckDbTypes) {
  const TableSchema schema = Schema(R"({"fields":[{"name":"a","type":"INTEGER","mode":"REQUIRED"},
    {"name":"r","type":"STRUCT","mode":"REPEATED","fields":[{"name":"x\"y","type":"FLOAT64"},{"name":"n","type":"NUMERIC"}]}]})");
  EXPECT_EQ(DuckDbColumn(schema.fields[0]), "\"a\" BIGINT NOT NULL");
  EXPECT_EQ(DuckDbType(schema.fields[1]), "STRUCT(\"x\"\"y\" DOUBLE, \"n\" DECIMAL(38,9))[]");
  EXPECT_EQ(GoogleSqlType(schema.fields[1]), "ARRAY<STRUCT<x\"y FLOAT64, n NUMERIC>>");
  EXPECT_EQ(*SchemaFromJson(SchemaToJson(schema)), schema);
  EXPECT_EQ(SchemaToJson(schema)["fields"][1]["type"], "RECORD");
}

TEST(SchemaTest, Refusals) {
  const auto message = [](const char* text) {
    const auto schema = SchemaFromJson(json::parse(text));
    return schema.ok() ? std::string("accepted") : std::string(schema.status().message());
  };
  EXPECT_THAT(message(R"({"fields":[{"name":"a","type":"GEOGRAPHY"}]})"),
              HasSubstr("not a type that this local BigQuery"));
  EXPECT_THAT(message(R"({"fields":[{"name":"a","type":"INT64"},{"name":"A","type":"INT64"}]})"),
              HasSubstr("already exists"));
  EXPECT_THAT(message(R"({"fields":[{"name":"a","type":"RECORD"}]})"), HasSubstr("has no schema"));
  EXPECT_THAT(message(R"({"fields":[{"type":"INT64"}]})"), HasSubstr("Invalid field name"));
}

TEST(SchemaTest, Updates) {
  const TableSchema now = Schema(R"({"fields":[{"name":"a","type":"INT64","mode":"REQUIRED"}]})");
  EXPECT_TRUE(
      CheckSchemaUpdate(
          now, Schema(R"({"fields":[{"name":"b","type":"STRING"},{"name":"a","type":"INT64"}]})"),
          "p:d.t")
          .ok());
  EXPECT_THAT(std::string(CheckSchemaUpdate(
                              now, Schema(R"({"fields":[{"name":"b","type":"STRING"}]})"), "p:d.t")
                              .message()),
              HasSubstr("Field a is missing in new schema"));
  EXPECT_THAT(
      std::string(CheckSchemaUpdate(
                      now, Schema(R"({"fields":[{"name":"a","type":"STRING","mode":"REQUIRED"}]})"),
                      "p:d.t")
                      .message()),
      HasSubstr("changed type from INTEGER to STRING"));
}

}  // namespace
}  // namespace hornbeam::services::bigquery
