// Queries that ask for too much, that are to stop, and that meet others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http_server.h"
#include "services/bigquery/bigquery_service.h"

namespace hornbeam::services::bigquery {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A query that does not end by itself, and neither holds nor gives anything.
constexpr char kEndless[] =
    "SELECT COUNT(*) AS n FROM UNNEST(GENERATE_ARRAY(1, 9999)) AS a, "
    "UNNEST(GENERATE_ARRAY(1, 9999)) AS b, UNNEST(GENERATE_ARRAY(1, 9999)) AS c, "
    "UNNEST(GENERATE_ARRAY(1, 9999)) AS d WHERE MOD(a + b + c + d, 7) = 9";

class BigQueryBoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    options_.data_dir = (std::filesystem::temp_directory_path() /
                         absl::StrCat("bigquery_bounds_", getpid(), "_", info->name()))
                            .string();
    std::filesystem::remove_all(options_.data_dir);
  }
  void TearDown() override {
    Stop();
    std::filesystem::remove_all(options_.data_dir);
  }
  void Start() {
    auto opened = BigQueryService::Open(options_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    service_ = *std::move(opened);
    http_ = std::make_unique<HttpServer>();
    service_->RegisterRoutes(http_.get());
    ASSERT_TRUE(http_->Start(0).ok());
    Call("POST", "/projects/p/datasets", {{"datasetReference", {{"datasetId", "d"}}}});
  }
  void Stop() {
    if (service_ == nullptr) return;
    service_->StopQueries();
    http_.reset();
    service_.reset();
  }

  struct Answer {
    int code = 0;
    json body;
    std::string Reason() const {
      return body.contains("error") ? body["error"]["errors"][0]["reason"].get<std::string>() : "";
    }
    std::string Message() const {
      return body.contains("error") ? body["error"]["message"].get<std::string>() : "";
    }
  };
  Answer Call(const char* method, const std::string& path, const json& body = nullptr) const {
    httplib::Client client("127.0.0.1", http_->port());
    client.set_read_timeout(300);
    httplib::Request request;
    request.method = method;
    request.path = "/bigquery/v2" + path;
    if (!body.is_null()) request.body = body.dump();
    const auto result = client.send(request);
    if (!result) return {-static_cast<int>(result.error()), path};
    return {result->status, result->body.empty() ? json() : json::parse(result->body)};
  }
  Answer Query(const std::string& sql, json more = json::object()) const {
    more["query"] = sql;
    more["useLegacySql"] = false;
    more["timeoutMs"] = 200'000;
    more["defaultDataset"] = {{"datasetId", "d"}};
    return Call("POST", "/projects/p/queries", more);
  }
  std::string One(const std::string& sql) const {
    const Answer answer = Query(sql);
    if (answer.code != 200) return absl::StrCat(answer.Reason(), ": ", answer.Message());
    return answer.body["rows"][0]["f"][0]["v"].get<std::string>();
  }
  std::string StartJob(const std::string& sql, json query = json::object()) const {
    query["query"] = sql;
    query["useLegacySql"] = false;
    query["defaultDataset"] = {{"datasetId", "d"}};
    const Answer answer = Call("POST", "/projects/p/jobs", {{"configuration", {{"query", query}}}});
    EXPECT_EQ(answer.code, 200) << answer.body;
    return answer.body["jobReference"]["jobId"].get<std::string>();
  }
  json Status(const std::string& job) const {
    return Call("GET", "/projects/p/jobs/" + job).body["status"];
  }
  // The job's error, once it is done; empty when it has none.
  std::string EndOf(const std::string& job) const {
    for (;;) {
      Call("GET", absl::StrCat("/projects/p/queries/", job, "?timeoutMs=10000&maxResults=0"));
      const json status = Status(job);
      if (status["state"] != "DONE") continue;
      return status.contains("errorResult") ? status["errorResult"]["reason"].get<std::string>()
                                            : "";
    }
  }
  void Cancel(const std::string& job) const {
    Call("POST", absl::StrCat("/projects/p/jobs/", job, "/cancel"));
  }

  BigQueryOptions options_;
  std::unique_ptr<BigQueryService> service_;
  std::unique_ptr<HttpServer> http_;
};

TEST_F(BigQueryBoundsTest, ValuesHaveBigQuerysBounds) {
  Start();
  EXPECT_EQ(One("SELECT x FROM UNNEST(GENERATE_ARRAY(1, 2000000000)) AS x"),
            "invalidQuery: GENERATE_ARRAY(1, 2000000000, 1) produced too many elements");
  EXPECT_EQ(One("SELECT ARRAY_LENGTH(GENERATE_ARRAY(1, 1048575))"), "1048575");
  EXPECT_THAT(One("SELECT ARRAY_LENGTH(GENERATE_ARRAY(1, 1048576))"), HasSubstr("too many"));
  EXPECT_EQ(One("SELECT ARRAY_LENGTH(GENERATE_ARRAY(10, 1, -3))"), "4");
  EXPECT_EQ(One("SELECT ARRAY_LENGTH(GENERATE_ARRAY(10, 1))"), "0");
  EXPECT_THAT(One("SELECT ARRAY_LENGTH(GENERATE_ARRAY(1, 2, 0))"),
              HasSubstr("Sequence step cannot be 0."));
  EXPECT_THAT(One("SELECT SUM(ARRAY_LENGTH(GENERATE_ARRAY(1, x))) FROM UNNEST([5, 70000]) AS x"),
              HasSubstr("too many elements"));
  EXPECT_EQ(One("SELECT SUM(ARRAY_LENGTH(GENERATE_ARRAY(1, x))) FROM UNNEST([5, 7]) AS x"), "12");
  EXPECT_EQ(One("SELECT ARRAY_LENGTH(GENERATE_DATE_ARRAY('2024-01-01', '2024-03-01', INTERVAL 1 "
                "MONTH))"),
            "3");
  EXPECT_THAT(One("SELECT ARRAY_LENGTH(GENERATE_DATE_ARRAY('0001-01-01', '9999-12-31'))"),
              HasSubstr("GENERATE_DATE_ARRAY("));
  EXPECT_EQ(One("SELECT ARRAY_LENGTH(GENERATE_TIMESTAMP_ARRAY('2024-01-01', '2024-01-02', INTERVAL "
                "6 HOUR))"),
            "5");
  EXPECT_THAT(One("SELECT ARRAY_LENGTH(GENERATE_TIMESTAMP_ARRAY('2024-01-01', '2024-01-02', "
                  "INTERVAL 1 MICROSECOND))"),
              HasSubstr("too many elements"));
  EXPECT_EQ(One("SELECT BYTE_LENGTH(REPEAT('ab', 524288))"), "1048576");
  EXPECT_THAT(One("SELECT REPEAT('ab', 2000000000)"), HasSubstr("Output of REPEAT exceeds"));
  EXPECT_EQ(One("SELECT LPAD('a', 3)"), "  a");
  EXPECT_EQ(One("SELECT RPAD('a', 3, 'xy')"), "axy");
  EXPECT_THAT(One("SELECT LPAD('a', 2000000000)"), HasSubstr("Output of LPAD/RPAD exceeds"));
  EXPECT_THAT(One("SELECT 1 -- " + std::string(1 << 20, 'x')), HasSubstr("query is too large"));
  EXPECT_EQ(One("SELECT 1"), "1");
}

TEST_F(BigQueryBoundsTest, AResultThatIsTooLargeNeedsADestination) {
  options_.max_result_bytes = 4 << 20;
  Start();
  const std::string large =
      "SELECT a * 1000 + b AS x FROM UNNEST(GENERATE_ARRAY(1, 1000)) AS a, "
      "UNNEST(GENERATE_ARRAY(1, 1000)) AS b";
  const Answer answer = Query(large);
  EXPECT_EQ(answer.code, 403);
  EXPECT_EQ(answer.Reason(), "responseTooLarge");
  EXPECT_THAT(answer.Message(), StartsWith("Response too large to return."));
  // Of text and lists it is their contents that count.
  EXPECT_THAT(One("SELECT REPEAT('x', 1000000) FROM UNNEST(GENERATE_ARRAY(1, 5)) AS x"),
              StartsWith("responseTooLarge"));
  EXPECT_THAT(One("SELECT GENERATE_ARRAY(1, 1000000)"), StartsWith("responseTooLarge"));
  EXPECT_EQ(One("SELECT 1"), "1");

  const std::string job = StartJob(
      large,
      {{"destinationTable", {{"projectId", "p"}, {"datasetId", "d"}, {"tableId", "large"}}}});
  EXPECT_EQ(EndOf(job), "");
  const json page = Call("GET", absl::StrCat("/projects/p/queries/", job, "?maxResults=3")).body;
  EXPECT_EQ(page["totalRows"], "1000000");
  EXPECT_EQ(page["rows"].size(), 3u);
  EXPECT_EQ(page["schema"]["fields"][0]["name"], "x");
  EXPECT_EQ(One("SELECT COUNT(DISTINCT x) FROM large"), "1000000");
}

TEST_F(BigQueryBoundsTest, RowsOfSparseChunksTakeNoMoreThanTheyAre) {
  options_.max_result_bytes = 1 << 20;
  Start();
  // One row in 1024 is left: a chunk for each would be a hundred times the result.
  const Answer answer = Query(
      "SELECT a, [a, a] AS l, STRUCT(CAST(a AS STRING) AS s) AS r, IF(a > 500000, NULL, a) AS n "
      "FROM UNNEST(GENERATE_ARRAY(1, 1000000)) AS a WHERE MOD(a, 1024) = 0");
  ASSERT_EQ(answer.code, 200) << answer.body;
  ASSERT_EQ(answer.body["rows"].size(), 976u);
  int64_t sum = 0;
  for (const json& row : answer.body["rows"]) {
    const std::string a = row["f"][0]["v"];
    sum += std::stoll(a);
    EXPECT_EQ(row["f"][1]["v"][1]["v"], a);
    EXPECT_EQ(row["f"][2]["v"]["f"][0]["v"], a);
    EXPECT_EQ(row["f"][3]["v"].is_null(), std::stoll(a) > 500000);
  }
  EXPECT_EQ(sum, 1024 * 976 * 977 / 2);
}

TEST_F(BigQueryBoundsTest, AQueryAboveTheMemoryFailsAndTheNextOneDoesNot) {
  options_.query_memory_bytes = 100 << 20;
  options_.query_disk_bytes = 10 << 20;
  Start();
  const Answer answer = Query(
      "SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(CAST(a AS STRING), '-a long text-', CAST(b AS "
      "STRING)) FROM UNNEST(GENERATE_ARRAY(1, 10000)) AS a, UNNEST(GENERATE_ARRAY(1, 500)) AS b)");
  EXPECT_EQ(answer.code, 400) << answer.body;
  EXPECT_EQ(answer.Reason(), "resourcesExceeded");
  EXPECT_THAT(answer.Message(), StartsWith("Resources exceeded during query execution"));
  EXPECT_EQ(One("SELECT 1"), "1");
  Stop();
  EXPECT_FALSE(std::filesystem::exists(options_.data_dir + "/tmp"));
}

TEST_F(BigQueryBoundsTest, WhatWritesAQueryIsCancelledAndHindersNobody) {
  Start();
  const json destination = {
      {"destinationTable", {{"projectId", "p"}, {"datasetId", "d"}, {"tableId", "e"}}}};
  EXPECT_EQ(Query("CREATE TABLE t (n INT64)").code, 200);
  for (const auto& [sql, query] : std::vector<std::pair<std::string, json>>{
           {absl::StrCat("CREATE TABLE e AS ", kEndless), json::object()},
           {absl::StrCat("INSERT INTO t (n) ", kEndless), json::object()},
           {kEndless, destination}}) {
    const std::string job = StartJob(sql, query);
    // The writer's turn is free while the query runs.
    EXPECT_EQ(One("INSERT INTO t VALUES (1); SELECT 'written'"), "written");
    EXPECT_EQ(Status(job)["state"], "RUNNING") << sql;
    Cancel(job);
    EXPECT_EQ(EndOf(job), "stopped") << sql;
  }
  EXPECT_EQ(One("SELECT COUNT(*) FROM t"), "3");
  EXPECT_THAT(One("SELECT * FROM e"), StartsWith("notFound"));
}

TEST_F(BigQueryBoundsTest, AWriterThatWaitsForItsTurnIsCancelledToo) {
  Start();
  EXPECT_EQ(Query("CREATE TABLE t AS SELECT 1 AS n").code, 200);
  const std::string first = StartJob(absl::StrCat("UPDATE t SET n = (", kEndless, ") WHERE n = 1"));
  while (Status(first)["state"] != "RUNNING") std::this_thread::yield();
  const std::string second = StartJob("UPDATE t SET n = 2 WHERE n = 1");
  while (Status(second)["state"] != "RUNNING") std::this_thread::yield();
  Cancel(second);
  EXPECT_EQ(EndOf(second), "stopped");
  EXPECT_EQ(Status(first)["state"], "RUNNING");
  Cancel(first);
  EXPECT_EQ(EndOf(first), "stopped");
  EXPECT_EQ(One("UPDATE t SET n = 3 WHERE n = 1; SELECT n FROM t"), "3");
}

TEST_F(BigQueryBoundsTest, AJobEndsWhenItsTimeIsOver) {
  Start();
  const Answer answer = Query(kEndless, {{"jobTimeoutMs", "1"}});
  EXPECT_EQ(answer.code, 400);
  EXPECT_EQ(answer.Reason(), "timeout");
  EXPECT_THAT(answer.Message(), HasSubstr("timed out after 1 ms"));
  EXPECT_EQ(Query("SELECT 1", {{"jobTimeoutMs", -1}}).code, 400);
}

TEST_F(BigQueryBoundsTest, LongQueriesLetShortOnesThrough) {
  Start();
  std::vector<std::string> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(StartJob(kEndless));
  EXPECT_EQ(One("SELECT 'short'"), "short");
  for (const std::string& job : jobs) EXPECT_EQ(Status(job)["state"], "RUNNING");
  // One that waits for an answer hears that there will be none, so that the server can end.
  std::thread waiting([&] { EXPECT_EQ(Query(kEndless).code, 503); });
  while (Call("GET", "/projects/p/jobs?maxResults=100").body["jobs"].size() < 8)
    std::this_thread::yield();
  service_->StopQueries();
  waiting.join();
  for (const std::string& job : jobs) EXPECT_EQ(Status(job)["state"], "DONE");
}

TEST_F(BigQueryBoundsTest, MoreThanMayWaitAreRefused) {
  options_.max_running_queries = 2;
  options_.max_pending_queries = 1;
  Start();
  std::vector<std::string> jobs;
  for (int i = 0; i < 2; ++i) jobs.push_back(StartJob(kEndless));
  for (const std::string& job : jobs)
    while (Status(job)["state"] != "RUNNING") std::this_thread::yield();
  jobs.push_back(StartJob(kEndless));
  const Answer refused = Query("SELECT 1");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.Reason(), "quotaExceeded");
  EXPECT_EQ(Status(jobs[2])["state"], "PENDING");
  for (const std::string& job : jobs) Cancel(job);
  for (const std::string& job : jobs) EXPECT_EQ(EndOf(job), "stopped");
  EXPECT_EQ(One("SELECT 1"), "1");
}

TEST_F(BigQueryBoundsTest, RacingChangesAnswerWhatIsThereAndWhatIsNot) {
  Start();
  struct Racer {
    std::function<Answer()> call;
    std::set<int> allowed;
  };
  const json row = {{"rows", {{{"json", {{"x", 1}}}}}}};
  const json table = {{"tableReference", {{"tableId", "t"}}},
                      {"schema", {{"fields", {{{"name", "x"}, {"type", "INT64"}}}}}}};
  const std::string path = "/projects/p/datasets/d/tables";
  const std::vector<Racer> racers = {
      {[&] { return Query("CREATE TABLE t (x INT64)"); }, {200, 409}},
      {[&] { return Call("POST", path, table); }, {200, 409}},
      {[&] { return Query("CREATE TABLE IF NOT EXISTS t (x INT64)"); }, {200}},
      {[&] { return Query("CREATE OR REPLACE TABLE t AS SELECT 1 AS x"); }, {200}},
      {[&] { return Query("DROP TABLE t"); }, {200, 404}},
      {[&] { return Call("DELETE", path + "/t"); }, {204, 404}},
      {[&] { return Query("DROP TABLE IF EXISTS t"); }, {200}},
      {[&] { return Query("SELECT COUNT(x) FROM t"); }, {200, 404}},
      {[&] { return Query("INSERT INTO t (x) SELECT x + 1 FROM t LIMIT 2"); }, {200, 404}},
      {[&] { return Query("CREATE OR REPLACE TABLE u AS SELECT x FROM t"); }, {200, 404}},
      {[&] { return Query("CREATE OR REPLACE VIEW v AS SELECT x FROM t"); }, {200, 404}},
      {[&] { return Call("GET", path + "/t"); }, {200, 404}},
      {[&] { return Call("GET", path + "/t/data"); }, {200, 404}},
      {[&] { return Call("POST", path + "/t/insertAll", row); }, {200, 404}},
      {[&] {
         return Call("PATCH", path + "/t", {{"description", "x"}});
       },
       {200, 404}},
  };
  std::vector<std::thread> threads;
  for (const Racer& racer : racers) {
    threads.emplace_back([&racer] {
      for (int i = 0; i < 30; ++i) {
        const Answer answer = racer.call();
        EXPECT_TRUE(racer.allowed.contains(answer.code)) << answer.code << " " << answer.body;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(BigQueryBoundsTest, ColumnsThatAreAddedAtOnceAreAllThere) {
  Start();
  EXPECT_EQ(Query("CREATE TABLE t (x INT64)").code, 200);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int j = 0; j < 5; ++j) {
        const Answer answer =
            Query(absl::StrCat("ALTER TABLE t ADD COLUMN c", i, "_", j, " INT64"));
        EXPECT_EQ(answer.code, 200) << answer.body;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Call("GET", "/projects/p/datasets/d/tables/t").body["schema"]["fields"].size(), 21u);
}

TEST_F(BigQueryBoundsTest, MembersOfAnotherTypeAreNamed) {
  Start();
  const std::string tables = "/projects/p/datasets/d/tables";
  const json parameter = {{"name", "a"}, {"parameterType", {{"type", 1}}}};
  for (const auto& [path, body, named] : std::vector<std::tuple<std::string, json, std::string>>{
           {"/projects/p/datasets", {{"datasetReference", 1}}, "datasetReference"},
           {"/projects/p/datasets",
            {{"datasetReference", {{"datasetId", 1}}}},
            "datasetReference.datasetId: it must be a string, not a number"},
           {tables, {{"tableReference", {{"tableId", json::array()}}}}, "tableReference.tableId"},
           {tables, {{"tableReference", {{"tableId", "t"}}}, {"schema", "x"}}, "schema"},
           {tables,
            {{"tableReference", {{"tableId", "t"}}}, {"clustering", {{"fields", {1}}}}},
            "clustering.fields: it must be an array of strings"},
           {tables,
            {{"tableReference", {{"tableId", "t"}}}, {"timePartitioning", true}},
            "timePartitioning: it must be an object, not a truth value"},
           {"/projects/p/queries", {{"query", 1}}, "query"},
           {"/projects/p/queries",
            {{"query", "SELECT 1"}, {"defaultDataset", "d"}},
            "defaultDataset"},
           {"/projects/p/queries",
            {{"query", "SELECT 1"}, {"queryParameters", {1}}},
            "queryParameters: it must be an array of objects"},
           {"/projects/p/queries",
            {{"query", "SELECT @a"}, {"queryParameters", json::array({parameter})}},
            "type of a query parameter"},
           {"/projects/p/jobs", {{"configuration", "x"}}, "configuration"},
           {"/projects/p/jobs",
            {{"configuration", {{"query", {{"query", json::array()}}}}}},
            "query: it must be a string"},
           {"/projects/p/jobs",
            {{"configuration", {{"query", {{"query", "SELECT 1"}}}}},
             {"jobReference", {{"jobId", 7}}}},
            "jobReference.jobId"}}) {
    const Answer answer = Call("POST", path, body);
    EXPECT_EQ(answer.code, 400) << body;
    EXPECT_THAT(answer.Message(), HasSubstr(named)) << body;
    EXPECT_THAT(answer.Message(), Not(HasSubstr("json.exception"))) << body;
  }
  // null is "not set".
  EXPECT_EQ(Query("SELECT 1", {{"queryParameters", nullptr}, {"defaultDataset", nullptr}}).code,
            200);
}

TEST_F(BigQueryBoundsTest, PagesOfOtherSitesAreRefused) {
  Start();
  httplib::Client client("127.0.0.1", http_->port());
  const auto get = [&](const httplib::Headers& headers) {
    const auto answer = client.Get("/bigquery/v2/projects/p/datasets", headers);
    return answer ? answer->status : -1;
  };
  EXPECT_EQ(get({{"Host", "evil.example"}}), 403);
  EXPECT_EQ(get({{"Host", "localhost"}, {"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(get({{"Host", "localhost:9050"}}), 200);
  EXPECT_EQ(get({{"Host", "bigquery.googleapis.com"}}), 200);
}

}  // namespace
}  // namespace hornbeam::services::bigquery
