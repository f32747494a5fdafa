#include "console/job_state_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hornbeam::console {
namespace {

using nlohmann::json;

engine::JobSnapshot Example() {
  engine::JobSnapshot job;
  job.name = "flights";
  job.state = engine::JobState::kRunning;
  job.workers = 2;
  job.exactly_once = false;
  job.started_at_us = 1'700'000'000'000'001;
  job.sealed_epoch = 7;
  job.log_bytes = 123;
  job.state_bytes = 45;
  job.cold_cells = 6;
  job.undelivered_bytes = 9;
  engine::StepSnapshot read;
  read.name = "Read";
  read.urn = "x";
  read.elements_out = {10, 2};
  read.output_watermark = model::EventTime{1'357'000'000'000'000};
  read.backlog = {.elements = 5, .bytes = 50, .oldest_age_ms = 500};
  engine::StepSnapshot write;
  write.name = "Write";
  write.inputs = {"Read"};
  write.stage = 1;
  write.elements_in = 10;
  write.dropped_late = 1;
  write.failed = 2;
  write.rows_delivered = 8;
  write.parked = {.count = 3, .oldest_since_us = 4, .holds = model::EventTime{5}, .error = "away"};
  write.metrics = {
      {.kind = engine::MetricKind::kCounter, .space = "s", .name = "c", .value = 6},
      {.kind = engine::MetricKind::kDistribution, .space = "s", .name = "d", .count = 2, .sum = 9, .min = 4, .max = 5},
      {.kind = engine::MetricKind::kGauge, .space = "s", .name = "g", .value = 7, .at_us = 8}};
  job.steps = {read, write};
  return job;
}

TEST(JobStateJsonTest, ComesBackAsItWas) {
  const json written = ToJson(Example());
  const auto read = JobSnapshotFromJson(json::parse(JsonText(written)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read), written);
  EXPECT_EQ(read->steps[0].output_watermark, Example().steps[0].output_watermark);
  EXPECT_EQ(read->steps[1].input_watermark, model::EventTime::Min());
  EXPECT_EQ(read->steps[1].parked.holds, model::EventTime{5});
  ASSERT_EQ(read->steps[1].metrics.size(), 3u);
  EXPECT_EQ(read->steps[1].metrics[1].max, 5);
  EXPECT_EQ(read->steps[1].metrics[2].at_us, 8);
}

TEST(JobStateJsonTest, IgnoresUnknownFieldsAndFillsInMissingOnes) {
  const auto read =
      JobSnapshotFromJson({{"name", "n"}, {"colour", "green"}, {"steps", {{{"name", "s"}}}}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->state, engine::JobState::kStarting);
  EXPECT_EQ(read->steps[0].rows_delivered, -1);
}

TEST(JobStateJsonTest, RefusesWhatIsNoState) {
  EXPECT_TRUE(absl::IsInvalidArgument(JobSnapshotFromJson(json::array()).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(JobSnapshotFromJson(json::parse("{", nullptr, false)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(JobSnapshotFromJson({{"workers", "two"}}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(JobSnapshotFromJson({{"state", "JOB_STATE_ASLEEP"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(JobSnapshotFromJson({{"steps", {1}}}).status()));
  EXPECT_EQ(JobSnapshotFromJson({{"steps", {{{"backlog", 1}}}}}).status().message(),
            "the field 'elements' of a job's state has the wrong type");
}

TEST(JobStateJsonTest, WritesBytesThatAreNoUtf8) {
  engine::JobSnapshot job = Example();
  job.error = "element \xff";
  EXPECT_NE(JsonText(ToJson(job)).find("element \xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace hornbeam::console
