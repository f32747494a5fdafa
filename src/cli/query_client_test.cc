#include "cli/query_client.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hornbeam::cli {
namespace {

using nlohmann::json;

json Answer() {
  return json::parse(R"({
    "schema": {"fields": [
      {"name": "id", "type": "STRING"},
      {"name": "n", "type": "INTEGER"},
      {"name": "x", "type": "FLOAT"},
      {"name": "at", "type": "TIMESTAMP"},
      {"name": "tags", "type": "STRING", "mode": "REPEATED"},
      {"name": "store", "type": "RECORD", "fields": [{"name": "open", "type": "BOOLEAN"}]}]},
    "rows": [{"f": [{"v": "a"}, {"v": "12"}, {"v": "1.5"}, {"v": "1357016400250000"},
                    {"v": [{"v": "p"}, {"v": "q"}]}, {"v": {"f": [{"v": "true"}]}}]},
             {"f": [{"v": "b"}, {"v": null}, {"v": "NaN"}, {"v": "1.3570164E9"}, {"v": []}, {"v": null}]}],
    "totalRows": "3"})");
}

TEST(QueryClientTest, PrintsAlignedColumns) {
  EXPECT_EQ(ResultTable(Answer()),
            "id     n    x  at                          tags       store\n"
            "──  ────  ───  ──────────────────────────  ─────────  ─────────────\n"
            "a     12  1.5  2013-01-01 05:00:00.25 UTC  [\"p\",\"q\"]  {\"open\":true}\n"
            "b   NULL  NaN  2013-01-01 05:00:00 UTC     []         NULL\n"
            "3 rows, the first 2 shown; --max-rows shows more\n");
}

TEST(QueryClientTest, PrintsJsonWithJsonsOwnTypes) {
  EXPECT_EQ(json::parse(ResultJson(Answer())), json::parse(R"([
    {"id": "a", "n": 12, "x": 1.5, "at": "2013-01-01T05:00:00.25Z", "tags": ["p", "q"], "store": {"open": true}},
    {"id": "b", "n": null, "x": "NaN", "at": "2013-01-01T05:00:00Z", "tags": [], "store": null}])"));
}

TEST(QueryClientTest, PrintsYearsInFourDigits) {
  const json answer = json::parse(R"({
    "schema": {"fields": [{"name": "at", "type": "TIMESTAMP"}]},
    "rows": [{"f": [{"v": "-62135596800000000"}]}], "totalRows": "1"})");
  EXPECT_EQ(json::parse(ResultJson(answer))[0]["at"], "0001-01-01T00:00:00Z");
  EXPECT_NE(ResultTable(answer).find("\n0001-01-01 00:00:00 UTC\n"), std::string::npos);
}

TEST(QueryClientTest, AProjectNeedsAName) {
  const Status status = QueryClient("127.0.0.1:1", "").Run("SELECT 1", 10).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("--project"), absl::string_view::npos);
}

TEST(QueryClientTest, PrintsAnAnswerWithoutRows) {
  EXPECT_EQ(ResultTable(json::parse(
                R"({"schema": {"fields": [{"name": "a", "type": "STRING"}]}, "totalRows": "0"})")),
            "a\n─\n0 rows\n");
  EXPECT_EQ(ResultTable(json::parse(R"({"numDmlAffectedRows": "4"})")), "4 rows changed.\n");
  EXPECT_EQ(ResultTable(json::object()), "Done.\n");
  EXPECT_EQ(ResultJson(json::object()), "[]\n");
}

TEST(QueryClientTest, SaysWhereNothingAnswers) {
  const Status status = QueryClient("127.0.0.1:1", "local").Run("SELECT 1", 10).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_NE(status.message().find("127.0.0.1:1"), absl::string_view::npos);
  EXPECT_NE(status.message().find("hornbeam up"), absl::string_view::npos);
}

}  // namespace
}  // namespace hornbeam::cli
