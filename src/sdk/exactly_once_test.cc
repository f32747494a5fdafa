// Nothing lost, nothing twice, whatever moment the power goes or the disk fails at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "sdk/fakes/message_queue.h"
#include "sdk/fakes/offset_table.h"
#include "sdk/fakes/power_switch.h"

namespace hornbeam {
namespace {

using engine::Job;
using engine::JobState;
using fakes::MessageQueue;
using fakes::OffsetTable;
using fakes::PowerSwitch;

constexpr int kMessages = 40;
constexpr int kMostStarts = 200;

// Every seventh message becomes a row that the table refuses.
std::vector<TimestampedValue<std::string>> Messages() {
  std::vector<TimestampedValue<std::string>> messages;
  for (int i = 0; i < kMessages; ++i) {
    messages.push_back({absl::StrCat(i % 7 == 3 ? "bad" : "row", i), EventTime::FromSeconds(i)});
  }
  return messages;
}

// All the outside of one job, over its many lives.
struct World {
  explicit World(uint64_t seed)
      : power(&fs, seed), queue(Messages(), &power), raw(&power, seed), sums(&power, seed + 1), refused(&power, seed + 2) {}

  MemoryFileSystem fs;
  ManualClock clock{1'000'000};
  PowerSwitch power;
  MessageQueue<std::string> queue;
  OffsetTable raw, sums, refused;
  ProcessingMode mode = ProcessingMode::kExactlyOnce;
};

struct Result {
  std::vector<std::string> raw, sums, refused;
  friend bool operator==(const Result&, const Result&) = default;
};

Result ResultOf(const World& world) {
  Result result{world.raw.rows(), world.sums.rows(), world.refused.rows()};
  std::sort(result.raw.begin(), result.raw.end());
  std::sort(result.sums.begin(), result.sums.end());
  std::sort(result.refused.begin(), result.refused.end());
  return result;
}

// Raw rows to one table, what it refuses to another, and sums by key and ten seconds to a third.
Status RunOnce(World& world, int workers, uint64_t seed, JobState* state) {
  PipelineOptions options;
  options.name = "world";
  options.mode = world.mode;
  options.state_dir = "/job";
  options.fs = &world.fs;
  options.clock = &world.clock;
  options.workers = workers;
  options.batch_size = 1 + seed % 5;
  options.deterministic_seed = seed;
  options.log_segment_bytes = 2000;
  options.log_rewrite_above_bytes = 4000;
  Pipeline pipeline(options);
  const auto messages = pipeline | "Messages" >> fakes::ReadQueue(&world.queue, 2);
  const auto written = messages | "Raw" >> fakes::WriteTable(&world.raw);
  written.answers | "ByRow" >> Map([](const std::string& row) { return KV<std::string, std::string>{row, "refused"}; })
                  | "Group" >> GroupByKey()
                  | "Row" >> Map([](const KV<std::string, std::vector<std::string>>& group) {
                      return absl::StrCat("- ", group.key, " x", group.value.size());
                    })
                  | "Refused" >> fakes::WriteTable(&world.refused);
  messages | "Key" >> Map([](const std::string& row) { return KV<std::string, int64_t>{row.substr(0, 3), 1}; })
           | "Tens" >> WindowInto(FixedWindows(Seconds(10))) | "Count" >> CombinePerKey(Sum<int64_t>())
           | "Line" >> Map([](const KV<std::string, int64_t>& count, const ElementContext& context) {
               return absl::StrCat("- ", count.key, " ", context.window().start.us / 1'000'000, " ", count.value);
             })
           | "Sums" >> fakes::WriteTable(&world.sums);
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, pipeline.MakeJob());
  const Status status = job->Run();
  *state = job->state();
  return status;
}

Status RunToItsEnd(World& world, int workers, Rng& rng, uint64_t most_moments, int* starts) {
  for (*starts = 1; *starts <= kMostStarts; ++*starts) {
    world.power.On(most_moments == 0 ? 0 : 1 + rng.Below(most_moments));
    JobState state = JobState::kStarting;
    const Status status = RunOnce(world, workers, rng.Next() | 1, &state);
    if (world.power.is_on()) return status;
  }
  return absl::DeadlineExceededError("the job does not come to an end");
}

Result Undisturbed() {
  World world(1);
  Rng rng(1);
  int starts = 0;
  const Status status = RunToItsEnd(world, 1, rng, 0, &starts);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(world.queue.acked(), kMessages);
  return ResultOf(world);
}

TEST(ExactlyOnceTest, AnUndisturbedRunIsComplete) {
  const Result result = Undisturbed();
  EXPECT_EQ(result.raw.size(), kMessages - 6u);
  EXPECT_THAT(result.refused, testing::ElementsAre("- bad10 x1", "- bad17 x1", "- bad24 x1", "- bad3 x1", "- bad31 x1", "- bad38 x1"));
  EXPECT_THAT(result.sums, testing::ElementsAre("- bad 0 1", "- bad 10 2", "- bad 20 1", "- bad 30 2", "- row 0 9",
                                                "- row 10 8", "- row 20 9", "- row 30 8"));
}

TEST(ExactlyOnceTest, ThePowerGoesAtRandomMoments) {
  const Result expected = Undisturbed();
  int all_starts = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(seed);
    world.raw.SetAwayOneIn(seed % 3 == 0 ? 4 : 0);
    world.sums.SetAwayOneIn(seed % 2 == 0 ? 3 : 0);
    Rng rng(seed);
    int starts = 0;
    const Status status = RunToItsEnd(world, seed % 2 == 0 ? 3 : 1, rng, 40, &starts);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(ResultOf(world), expected);
    ASSERT_EQ(world.queue.acked(), kMessages);
    all_starts += starts;
  }
  EXPECT_GT(all_starts, 300);  // there were crashes
}

// What crashes repeat is there more than once; what `expected` has is there.
void ExpectNothingMissing(const World& world, const Result& expected) {
  const Result result = ResultOf(world);
  EXPECT_THAT(result.raw, testing::IsSupersetOf(std::set<std::string>(expected.raw.begin(), expected.raw.end())));
  EXPECT_THAT(result.sums, testing::IsSupersetOf(std::set<std::string>(expected.sums.begin(), expected.sums.end())));
  for (const std::string& row : expected.refused) {
    const std::string_view name = std::string_view(row).substr(0, row.size() - 1);  // without how often
    EXPECT_TRUE(std::any_of(result.refused.begin(), result.refused.end(),
                            [name](const std::string& other) { return other.starts_with(name); }))
        << name;
  }
}

TEST(ExactlyOnceTest, AtLeastOnceThePowerGoesAtRandomMomentsAndNothingIsMissing) {
  const Result expected = Undisturbed();
  int all_starts = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(seed);
    world.mode = ProcessingMode::kAtLeastOnce;
    world.raw.SetAwayOneIn(seed % 3 == 0 ? 4 : 0);
    world.sums.SetAwayOneIn(seed % 2 == 0 ? 3 : 0);
    Rng rng(seed);
    int starts = 0;
    const Status status = RunToItsEnd(world, seed % 2 == 0 ? 3 : 1, rng, 40, &starts);
    ASSERT_TRUE(status.ok()) << status;
    ExpectNothingMissing(world, expected);
    ASSERT_EQ(world.queue.acked(), kMessages);
    if (HasFailure()) return;
    all_starts += starts;
  }
  EXPECT_GT(all_starts, 300);
}

TEST(ExactlyOnceTest, ASourceThatForgetsNeedsAStateDirectory) {
  MessageQueue<std::string> queue(Messages());
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  pipeline | "Messages" >> fakes::ReadQueue(&queue);
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("'Messages' reads what is gone once it is acknowledged"));
}

TEST(ExactlyOnceTest, WhatIsRefusedAndReadByNobodyFailsTheJob) {
  for (const std::string row : {"refuse this", "bad row"}) {
    OffsetTable table;
    MemoryFileSystem fs;
    for (int start = 0; start < 2; ++start) {  // also when it is started again
      PipelineOptions options;
      options.fs = &fs;
      options.state_dir = "/job";
      options.deterministic_seed = 5;
      Pipeline pipeline(options);
      const auto written = pipeline | "Rows" >> Create<std::string>(std::vector<std::string>{"a", row})
                           | "Write" >> fakes::WriteTable(&table);
      written.refused | "Elsewhere" >> WindowInto(GlobalWindows());  // which nobody reads
      const Status status = pipeline.Run();
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr("nothing in the pipeline reads what"));
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr("'Write'"));
    }
  }
}

// Every append and sync of the log fails once: the job says so, and a new one goes on from the last seal.
TEST(ExactlyOnceTest, AFailingDiskFailsTheJobAndLosesNothing) {
  const Result expected = Undisturbed();
  for (const FileOperation operation : {FileOperation::kSync, FileOperation::kAppend, FileOperation::kCreate}) {
    int failed = 0;
    for (uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE(absl::StrCat("operation ", static_cast<int>(operation), ", number ", nth));
      World world(nth);
      world.fs.FailNth(operation, nth, absl::InternalError("the disk is broken"));
      world.power.On(0);
      JobState state = JobState::kStarting;
      const Status status = RunOnce(world, 2, nth | 1, &state);
      if (status.ok()) break;  // there are no more of them
      ++failed;
      EXPECT_TRUE(absl::StrContains(status.message(), "the disk is broken")) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "the job's log") ||
                  absl::StrContains(status.message(), "noting what the pipeline is made of"))
          << status;
      world.power.Off();
      world.fs.ClearFaults();
      Rng rng(nth);
      int starts = 0;
      const Status again = RunToItsEnd(world, 2, rng, 0, &starts);
      ASSERT_TRUE(again.ok()) << again;
      ASSERT_EQ(ResultOf(world), expected);
      ASSERT_EQ(world.queue.acked(), kMessages);
    }
    EXPECT_GT(failed, 0);
  }
}

TEST(ExactlyOnceTest, ASinkThatFailsForGoodFailsTheJob) {
  World world(1);
  world.sums.SetFatal(absl::PermissionDeniedError("no access to the table"));
  JobState state = JobState::kStarting;
  const Status status = RunOnce(world, 2, 3, &state);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("sink 'Sums': no access to the table"));
  EXPECT_EQ(state, JobState::kFailed);
  world.sums.SetFatal(absl::OkStatus());
  Rng rng(1);
  int starts = 0;
  ASSERT_TRUE(RunToItsEnd(world, 2, rng, 0, &starts).ok());
  EXPECT_EQ(ResultOf(world), Undisturbed());
}

TEST(ExactlyOnceTest, ARowThatTheEncoderRefusesComesBack) {
  for (const int workers : {1, 3}) {
    OffsetTable table;
    Collector<std::string> refused;
    PipelineOptions options;
    options.workers = workers;
    options.deterministic_seed = 5;
    Pipeline pipeline(options);
    const auto written = pipeline | "Rows" >> Create<std::string>(std::vector<std::string>{"a", "refuse b", "throw c", "d"})
                         | "Write" >> fakes::WriteTable(&table);
    written.refused | "Refused" >> Collect(&refused);
    ASSERT_TRUE(pipeline.Run().ok());
    EXPECT_THAT(table.rows(), testing::UnorderedElementsAre("a", "d"));
    EXPECT_THAT(refused.values(),
                testing::UnorderedElementsAre("refuse b: the encoder refuses it",
                                              "throw c: an exception that is not a std::exception"));
  }
}

}  // namespace
}  // namespace hornbeam
