#include "console/job_registry.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"

namespace hornbeam::console {
namespace {

using engine::JobState;

engine::JobSnapshot Job(JobState state, int64_t started_at_us = 1) {
  engine::JobSnapshot job;
  job.name = "orders";
  job.state = state;
  job.started_at_us = started_at_us;
  return job;
}

class JobRegistryTest : public testing::Test {
 protected:
  void Open() {
    auto opened = JobRegistry::Open("data/jobs", &fs_, &clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    registry_ = *std::move(opened);
  }
  void SetUp() override { Open(); }

  MemoryFileSystem fs_;
  ManualClock clock_{1'000'000};
  std::unique_ptr<JobRegistry> registry_;
};

TEST_F(JobRegistryTest, ShowsTheNewestStateAndTheNewestJobFirst) {
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kRunning, 10)).ok());
  ASSERT_TRUE(registry_->Report("b", Job(JobState::kRunning, 20)).ok());
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kDraining, 10)).ok());
  const auto jobs = registry_->List();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, "b");
  EXPECT_EQ(jobs[1].snapshot.state, JobState::kDraining);
  EXPECT_TRUE(absl::IsNotFound(registry_->Get("c").status()));
}

TEST_F(JobRegistryTest, SaysWhichJobHasFallenSilent) {
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kRunning)).ok());
  ASSERT_TRUE(registry_->Report("b", Job(JobState::kDone)).ok());
  clock_.AdvanceMicros(JobRegistry::kSilenceMicros - 1);
  EXPECT_TRUE(registry_->Get("a")->responding);
  clock_.AdvanceMicros(1);
  EXPECT_FALSE(registry_->Get("a")->responding);
  EXPECT_TRUE(registry_->Get("b")->responding);
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kRunning)).ok());
  EXPECT_TRUE(registry_->Get("a")->responding);
}

TEST_F(JobRegistryTest, HandsOutACommandUntilTheJobObeys) {
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kRunning)).ok());
  ASSERT_TRUE(registry_->Drain("a").ok());
  EXPECT_TRUE(registry_->Report("a", Job(JobState::kRunning))->drain);
  EXPECT_TRUE(registry_->Report("a", Job(JobState::kRunning))->drain);
  EXPECT_FALSE(registry_->Report("a", Job(JobState::kDraining))->drain);
  ASSERT_TRUE(registry_->Cancel("a").ok());
  EXPECT_TRUE(registry_->Report("a", Job(JobState::kDraining))->cancel);
  EXPECT_FALSE(registry_->Report("a", Job(JobState::kCancelled))->cancel);
  EXPECT_TRUE(absl::IsFailedPrecondition(registry_->Cancel("a")));
  EXPECT_TRUE(absl::IsNotFound(registry_->Drain("b")));
}

TEST_F(JobRegistryTest, KeepsJobsOverARestart) {
  ASSERT_TRUE(registry_->Report("finished", Job(JobState::kDrained)).ok());
  ASSERT_TRUE(registry_->Report("running", Job(JobState::kRunning)).ok());
  registry_.reset();
  Open();
  EXPECT_EQ(registry_->Get("finished")->snapshot.state, JobState::kDrained);
  EXPECT_TRUE(registry_->Get("finished")->responding);
  EXPECT_FALSE(registry_->Get("running")->responding);
  ASSERT_TRUE(registry_->Report("running", Job(JobState::kRunning)).ok());
  EXPECT_TRUE(registry_->Get("running")->responding);
}

TEST_F(JobRegistryTest, AFinishedJobEndedWhenItFirstSaidSo) {
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kDone)).ok());
  const int64_t ended_us = registry_->Get("a")->updated_at_us;
  clock_.AdvanceMicros(1000);
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kDone)).ok());
  EXPECT_EQ(registry_->Get("a")->updated_at_us, ended_us);
}

TEST_F(JobRegistryTest, ForgetsTheOldestOfManyFinishedJobs) {
  for (size_t i = 0; i < JobRegistry::kMaxFinished + 2; ++i) {
    clock_.AdvanceMicros(1);
    ASSERT_TRUE(registry_->Report(absl::StrCat("job-", i), Job(JobState::kDone)).ok());
  }
  EXPECT_EQ(registry_->List().size(), JobRegistry::kMaxFinished);
  EXPECT_TRUE(absl::IsNotFound(registry_->Get("job-1").status()));
  EXPECT_TRUE(registry_->Get("job-2").ok());
  EXPECT_FALSE(fs_.Exists("data/jobs/job-1.json"));
}

TEST_F(JobRegistryTest, AJobThatStaysSilentIsLostAndInTheEndDropped) {
  ASSERT_TRUE(registry_->Report("a", Job(JobState::kRunning)).ok());
  ASSERT_TRUE(registry_->Report("b", Job(JobState::kDone)).ok());
  clock_.AdvanceMicros(JobRegistry::kLostMicros - 1);
  EXPECT_FALSE(registry_->Get("a")->lost);
  clock_.AdvanceMicros(1);
  EXPECT_TRUE(registry_->Get("a")->lost);
  EXPECT_FALSE(registry_->Get("b")->lost);
  registry_.reset();
  Open();
  EXPECT_FALSE(registry_->Get("a")->lost) << "it may report again at once";
  clock_.AdvanceMicros(JobRegistry::kForgetMicros);
  EXPECT_EQ(registry_->List().size(), 1u);
  ASSERT_TRUE(registry_->Report("c", Job(JobState::kRunning)).ok());
  EXPECT_TRUE(absl::IsNotFound(registry_->Get("a").status()));
  EXPECT_FALSE(fs_.Exists("data/jobs/a.json"));
  EXPECT_TRUE(registry_->Get("b").ok());
}

TEST_F(JobRegistryTest, KnowsSoManyUnfinishedJobsAndNoMore) {
  for (size_t i = 0; i < JobRegistry::kMaxUnfinished; ++i)
    ASSERT_TRUE(registry_->Report(absl::StrCat("job-", i), Job(JobState::kRunning)).ok());
  EXPECT_TRUE(
      absl::IsResourceExhausted(registry_->Report("more", Job(JobState::kRunning)).status()));
  EXPECT_TRUE(absl::IsNotFound(registry_->Get("more").status()));
  ASSERT_TRUE(registry_->Report("job-7", Job(JobState::kRunning)).ok());
  clock_.AdvanceMicros(1);
  for (size_t i = 0; i < JobRegistry::kMaxUnfinished; ++i) {
    if (i == 7) continue;
    ASSERT_TRUE(registry_->Report(absl::StrCat("job-", i), Job(JobState::kRunning)).ok());
  }
  clock_.AdvanceMicros(JobRegistry::kLostMicros);
  ASSERT_TRUE(registry_->Report("more", Job(JobState::kRunning)).ok());
  EXPECT_TRUE(absl::IsNotFound(registry_->Get("job-7").status())) << "the longest lost";
  EXPECT_EQ(registry_->List().size(), JobRegistry::kMaxUnfinished);
}

TEST_F(JobRegistryTest, RefusesAJobOfTooManySteps) {
  engine::JobSnapshot job = Job(JobState::kRunning);
  job.steps.resize(JobRegistry::kMaxSteps);
  EXPECT_TRUE(registry_->Report("a", job).ok());
  job.steps.resize(JobRegistry::kMaxSteps + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(registry_->Report("a", job).status()));
}

TEST_F(JobRegistryTest, RefusesIdsThatAreNoFileName) {
  for (const char* id : {"", "../up", "a/b", ".hidden", "ä"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(registry_->Report(id, Job(JobState::kRunning)).status()))
        << id;
  }
}

TEST_F(JobRegistryTest, NamesADamagedFile) {
  ASSERT_TRUE(WriteFileAtomically(fs_, "data/jobs/a.json", "{\"state\":").ok());
  const Status status = JobRegistry::Open("data/jobs", &fs_, &clock_).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_NE(status.message().find("data/jobs/a.json"), absl::string_view::npos);
}

TEST_F(JobRegistryTest, ReportsAFullDiskAndKeepsTheStateInMemory) {
  fs_.SetCapacity(0);
  EXPECT_TRUE(absl::IsResourceExhausted(registry_->Report("a", Job(JobState::kRunning)).status()));
  EXPECT_TRUE(registry_->Get("a").ok());
}

}  // namespace
}  // namespace hornbeam::console
