// The soak test's job without processes and clocks: the power goes at random moments of a disk in memory, in an order of steps that
// a seed decides. What comes is exact; and where an event is lost or read twice, the judge says so.
#include "soak_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
#include "engine/job/job.h"
#include "verdict.h"

namespace hornbeam::soak {
namespace {

constexpr SoakPlan kPlan{.seed = 5, .events = 2400, .rate = 40};
constexpr int kMostStarts = 2000;

struct Simulation {
  MemoryFileSystem fs;
  ManualClock clock{1'000'000};
  int starts = 0;
  uint64_t most_log_bytes = 0;
};

StatusOr<Verdict> Simulate(Simulation& world, uint64_t seed, bool crashes, const SoakFaults& faults = {}) {
  HB_RETURN_IF_ERROR(world.fs.CreateDirectories("/out"));
  HB_RETURN_IF_ERROR(world.fs.SyncDirectory("/"));
  Rng rng(seed);
  for (world.starts = 1; world.starts < kMostStarts; ++world.starts) {
    PipelineOptions options;
    options.name = "soak";
    options.state_dir = "/job";
    options.fs = &world.fs;
    options.clock = &world.clock;
    options.workers = 1 + static_cast<int>(rng.Below(4));
    options.batch_size = 1 + rng.Below(100);
    options.deterministic_seed = rng.Next() | 1;
    options.log_segment_bytes = 20'000;
    options.log_rewrite_above_bytes = 100'000;
    Pipeline pipeline(options);
    BuildSoakPipeline({.plan = kPlan, .output = "/out/rows", .paced = false, .faults = faults}, &pipeline);
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
    bool crashed = false;
    if (crashes) {
      job->StopAfterEpochs(1 + static_cast<int>(rng.Below(12)), static_cast<int>(rng.Below(50)), [&] {
        crashed = true;
        world.fs.DropUnsynced(&rng);
      });
    }
    const Status status = job->Run();
    world.most_log_bytes = std::max(world.most_log_bytes, job->Snapshot().log_bytes);
    world.clock.AdvanceMicros(200'000);
    if (crashed) continue;
    HB_RETURN_IF_ERROR(status);
    HB_ASSIGN_OR_RETURN(const std::string rows, ReadFile(world.fs, "/out/rows"));
    return Judge(Expectation(kPlan), rows);
  }
  return absl::DeadlineExceededError("the job does not come to an end");
}

TEST(SoakPipelineTest, WhatComesIsExactOverPowerCuts) {
  int starts = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Simulation world;
    const StatusOr<Verdict> verdict = Simulate(world, seed, seed > 2);
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_THAT(verdict->problems, testing::IsEmpty());
    EXPECT_GT(verdict->windows, 1000);
    EXPECT_LT(world.most_log_bytes, 400'000u) << "some 900,000 without compaction";
    starts += world.starts;
  }
  EXPECT_GT(starts, 100);
}

TEST(SoakPipelineTest, AnEventThatIsLostIsSeen) {
  Simulation world;
  const StatusOr<Verdict> verdict = Simulate(world, 1, false, {.lose_event = 1000});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->wrong, 4) << "once in every branch";
}

TEST(SoakPipelineTest, AnEventThatIsReadTwiceIsSeen) {
  Simulation world;
  const StatusOr<Verdict> verdict = Simulate(world, 1, true, {.repeat_event = 1000});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->wrong, 4) << "once in every branch";
}

}  // namespace
}  // namespace hornbeam::soak
