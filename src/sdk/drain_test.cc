// A drain ends the job for good, also when it is killed meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "sdk/fakes/message_queue.h"
#include "sdk/fakes/offset_table.h"

namespace hornbeam {
namespace {

using engine::Job;
using engine::JobState;
using testing::HasSubstr;

constexpr int kMessages = 60;

struct World {
  World() {
    std::vector<TimestampedValue<std::string>> messages;
    for (int i = 0; i < kMessages; ++i) messages.push_back({absl::StrCat("row", i), EventTime::FromSeconds(i)});
    queue = std::make_unique<fakes::MessageQueue<std::string>>(std::move(messages));
  }
  MemoryFileSystem fs;
  ManualClock clock{1'000'000};
  std::unique_ptr<fakes::MessageQueue<std::string>> queue;
  fakes::OffsetTable table;
};

// Drains at the `drain_at`th element (0: never), and loses the power some steps after an epoch is sealed (-1: never).
Status RunOnce(World& world, uint64_t seed, int drain_at, int crash_steps, JobState* state) {
  PipelineOptions options;
  options.name = "drained";
  options.state_dir = "/job";
  options.fs = &world.fs;
  options.clock = &world.clock;
  options.workers = 2;
  options.batch_size = 2;
  options.deterministic_seed = seed;
  Pipeline pipeline(options);
  Job* running = nullptr;
  int seen = 0;
  pipeline | "Messages" >> fakes::ReadQueue(world.queue.get(), 2) | "Watch" >> Map([&](const std::string& row) {
    if (++seen == drain_at) running->Drain();
    return row;
  }) | "Write" >> fakes::WriteTable(&world.table);
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, pipeline.MakeJob());
  running = job.get();
  bool crashed = false;
  if (crash_steps >= 0) {
    job->StopAfterEpochs(1, crash_steps, [&] {
      crashed = true;
      world.fs.DropUnsynced();
    });
  }
  const Status status = job->Run();
  *state = crashed ? JobState::kCancelled : job->state();
  return crashed ? absl::OkStatus() : status;
}

TEST(DrainTest, ADrainedJobSaysSoWhenItIsStartedAgain) {
  World world;
  JobState state;
  ASSERT_TRUE(RunOnce(world, 1, 10, -1, &state).ok());
  EXPECT_EQ(state, JobState::kDrained);
  EXPECT_LT(world.table.rows().size(), size_t{kMessages});
  EXPECT_EQ(world.table.rows().size(), world.queue->acked());
  const Status again = RunOnce(world, 2, 0, -1, &state);
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("job 'drained' was drained and has nothing left to do"));
}

TEST(DrainTest, AJobWhoseInputHasEndedEndsAtOnceWhenItIsStartedAgain) {
  World world;
  JobState state;
  for (int start = 0; start < 3; ++start) {
    ASSERT_TRUE(RunOnce(world, 1 + static_cast<uint64_t>(start), 0, -1, &state).ok());
    EXPECT_EQ(state, JobState::kDone);
    EXPECT_EQ(world.table.rows().size(), size_t{kMessages});
    EXPECT_EQ(world.queue->acked(), size_t{kMessages});
  }
}

TEST(DrainTest, ADrainThatIsKilledGoesOnAtTheNextStart) {
  int continued = 0;
  for (int steps = 0; steps < 120; ++steps) {
    SCOPED_TRACE(absl::StrCat("killed after ", steps, " steps"));
    World world;
    JobState state = JobState::kStarting;
    ASSERT_TRUE(RunOnce(world, 7, 10, steps, &state).ok());
    const bool killed = state == JobState::kCancelled;
    if (killed) {
      const Status status = RunOnce(world, 8, 0, -1, &state);
      ASSERT_TRUE(status.ok()) << status;
      continued += state == JobState::kDrained ? 1 : 0;
    }
    EXPECT_EQ(world.table.rows().size(), world.queue->acked());
    // Killed before the drain was asked for.
    if (state == JobState::kDone) {
      EXPECT_EQ(world.queue->acked(), size_t{kMessages});
    }
  }
  EXPECT_GT(continued, 0);
}

}  // namespace
}  // namespace hornbeam
