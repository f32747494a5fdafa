#include "console/console_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/http_client.h"
#include "base/memory_file_system.h"
#include "console/job_reporter.h"
#include "console/job_state_json.h"

namespace hornbeam::console {
namespace {

using nlohmann::json;

class ConsoleServerTest : public testing::Test {
 protected:
  void SetUp() override {
    registry_ = *JobRegistry::Open("jobs", &fs_, Clock::System());
    ConsoleOptions options;
    options.jobs = registry_.get();
    options.service_metrics = [] { return "pubsub_metric 1\n"; };
    server_ = std::make_unique<ConsoleServer>(options);
    ASSERT_TRUE(server_->Start(0).ok());
    client_ = std::make_unique<HttpClient>("127.0.0.1:" + std::to_string(server_->port()));
  }

  engine::JobSnapshot Job(engine::JobState state) {
    engine::JobSnapshot job;
    job.name = "orders";
    job.state = state;
    engine::StepSnapshot read;
    read.name = "Read\"1\"";
    read.elements_out = {12};
    read.failed = 3;
    job.steps = {read};
    return job;
  }

  MemoryFileSystem fs_;
  std::unique_ptr<JobRegistry> registry_;
  std::unique_ptr<ConsoleServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(ConsoleServerTest, ServesThePageAndItsFiles) {
  const auto page = client_->Get("/");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->status, 200);
  EXPECT_NE(page->body.find("<title>Hornbeam</title>"), std::string::npos);
  EXPECT_EQ(client_->Get("/console.js")->status, 200);
  EXPECT_EQ(client_->Get("/no.js")->status, 404);
  EXPECT_EQ(client_->Get("/../etc/passwd")->status, 404);
}

TEST_F(ConsoleServerTest, TakesReportsAndGivesCommands) {
  const std::string report = JsonText(ToJson(Job(engine::JobState::kRunning)));
  EXPECT_EQ(json::parse(client_->PostJson("/api/v1/jobs/a/state", report)->body),
            json({{"cancel", false}, {"drain", false}}));
  EXPECT_EQ(client_->PostJson("/api/v1/jobs/a:drain", "")->status, 200);
  EXPECT_EQ(json::parse(client_->PostJson("/api/v1/jobs/a/state", report)->body)["drain"], true);

  const json list = json::parse(client_->Get("/api/v1/jobs")->body);
  EXPECT_EQ(list["jobs"][0]["id"], "a");
  EXPECT_EQ(list["jobs"][0]["elements_read"], 12);
  EXPECT_EQ(list["jobs"][0]["failed"], 3);
  EXPECT_FALSE(list["jobs"][0].contains("steps"));
  EXPECT_EQ(json::parse(client_->Get("/api/v1/jobs/a")->body)["steps"].size(), 1u);
  EXPECT_EQ(client_->Get("/api/v1/jobs/b")->status, 404);
  EXPECT_EQ(client_->PostJson("/api/v1/jobs/a/state", "{")->status, 400);
  EXPECT_EQ(client_->PostJson("/api/v1/query", "{\"query\": \"SELECT 1\"}")->status, 503);
}

TEST_F(ConsoleServerTest, AStateHasABound) {
  const auto large = client_->PostJson("/api/v1/jobs/a/state", std::string(2 << 20, ' '));
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(large->status, 413);
  EXPECT_TRUE(registry_->List().empty());
}

TEST_F(ConsoleServerTest, WritesMetricsWithDataflowsNames) {
  ASSERT_TRUE(registry_->Report("a", Job(engine::JobState::kRunning)).ok());
  const std::string text = client_->Get("/metrics")->body;
  EXPECT_NE(text.find("# TYPE dataflow_job_element_count counter\n"), std::string::npos);
  EXPECT_NE(text.find("dataflow_job_element_count{job_id=\"a\",job_name=\"orders\",ptransform="
                      "\"Read\\\"1\\\"\"} 12\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("hornbeam_job_failed_elements{job_id=\"a\",job_name=\"orders\",ptransform="
                      "\"Read\\\"1\\\"\"} 3\n"),
            std::string::npos);
  EXPECT_EQ(text.find("dataflow_job_backlog_elements"), std::string::npos)
      << "not known, so not said";
  EXPECT_NE(text.find("pubsub_metric 1\n"), std::string::npos);
}

TEST_F(ConsoleServerTest, RefusesPagesOfOtherSites) {
  httplib::Client client("127.0.0.1", server_->port());
  const auto status = [&](const httplib::Headers& headers) {
    return client.Get("/api/v1/jobs", headers)->status;
  };
  const std::string own = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_EQ(status({{"Host", own}}), 200);
  EXPECT_EQ(status({{"Host", own}, {"Origin", "http://" + own}}), 200);
  EXPECT_EQ(status({{"Host", "localhost:1"}}), 200);
  EXPECT_EQ(status({{"Host", own}, {"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(status({{"Host", "evil.example"}}), 403);
}

TEST_F(ConsoleServerTest, AReporterTellsTheLastStateAndObeys) {
  std::atomic<bool> drained{false};
  ReportedJob job{
      .snapshot =
          [&] { return Job(drained ? engine::JobState::kDrained : engine::JobState::kRunning); },
      .cancel = [] {},
      .drain = [&] { drained = true; }};
  {
    JobReporter reporter("a", job, ReportTo(client_->endpoint()));
    while (!registry_->Get("a").ok()) std::this_thread::yield();
    ASSERT_TRUE(registry_->Drain("a").ok());
    while (!drained) std::this_thread::yield();
  }
  EXPECT_EQ(registry_->Get("a")->snapshot.state, engine::JobState::kDrained);
}

TEST(NewJobIdTest, IsReadableAndAFileName) {
  ManualClock clock(1'700'000'000'000'000);
  Rng rng(1);
  const std::string id = NewJobId("my job/1", &clock, &rng);
  EXPECT_EQ(id.substr(0, id.size() - 4), "my-job-1-20231114-221320-");
  EXPECT_NE(NewJobId("my job/1", &clock, &rng), id);
}

}  // namespace
}  // namespace hornbeam::console
