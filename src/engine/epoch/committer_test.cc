#include "engine/epoch/committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory_file_system.h"

namespace hornbeam::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr OperatorId kOp{1};

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() { Reopen(); }

  void Reopen() {
    log_.reset();
    auto log = JobLog::Open(&fs_, "/job", {.job_id = "orders", .seed = 1});
    HB_CHECK(log.ok());
    log_ = *std::move(log);
  }
  Committer::OnSealed Collect() {
    return [this](StatusOr<EpochId> sealed) {
      MutexLock lock(&mutex_);
      sealed_.push_back(sealed.ok()
                            ? std::to_string(*sealed)
                            : std::string(absl::StatusCodeToString(sealed.status().code())));
    };
  }
  std::vector<std::string> sealed() {
    MutexLock lock(&mutex_);
    return sealed_;
  }
  static EpochParts Epoch(EpochId epoch) {
    EpochParts parts{.epoch = epoch, .parts = {}};
    parts.parts.emplace_back().Add(kOp, 0, false, std::to_string(epoch));
    return parts;
  }

  MemoryFileSystem fs_;
  std::unique_ptr<JobLog> log_;
  Mutex mutex_;
  std::vector<std::string> sealed_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(CommitterTest, SealsInOrderAndReportsWhatIsDurable) {
  Committer committer(log_.get(), [this](StatusOr<EpochId> sealed) {
    EXPECT_EQ(log_->last_sealed(), *sealed);
    Collect()(std::move(sealed));
  });
  for (EpochId epoch = 1; epoch <= 20; ++epoch) committer.Submit(Epoch(epoch));
  committer.Stop();
  EXPECT_EQ(sealed().size(), 20u);
  EXPECT_EQ(sealed().back(), "20");
  EXPECT_EQ(committer.queued(), 0u);
  committer.Submit(Epoch(21));
  EXPECT_TRUE(absl::IsCancelled(committer.AppendNote(kOp, 0, false, "late")));
  fs_.DropUnsynced();
  Reopen();
  EXPECT_EQ(log_->last_sealed(), 20u);
}

TEST_F(CommitterTest, NotesOfManyThreadsAreDurableOnReturn) {
  Committer committer(log_.get(), Collect());
  std::vector<std::jthread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&committer, t] {
      for (int i = 0; i < 50; ++i) HB_CHECK(committer.AppendNote(kOp, t, false, "x").ok());
    });
  }
  for (EpochId epoch = 1; epoch <= 50; ++epoch) committer.Submit(Epoch(epoch));
  threads.clear();
  // Without Stop: what has returned is on disk.
  fs_.DropUnsynced();
  committer.Stop();
  Reopen();
  class CountNotes final : public ReplayVisitor {
   public:
    Status OnRecord(EpochId, OperatorId, uint32_t, bool, std::string_view) override { return {}; }
    Status OnNote(OperatorId, uint32_t, bool, std::string_view) override {
      ++count;
      return {};
    }
    int count = 0;
  } notes;
  ASSERT_TRUE(log_->Recover(&notes).ok());
  EXPECT_EQ(notes.count, 200);
}

TEST_F(CommitterTest, SubmitWaitsForRoom) {
  std::latch sealing(1), go_on(1);
  Committer committer(log_.get(), [&](StatusOr<EpochId> sealed) {
    if (*sealed == 1) {
      sealing.count_down();
      go_on.wait();
    }
    Collect()(std::move(sealed));
  });
  committer.Submit(Epoch(1));
  sealing.wait();
  committer.Submit(Epoch(2));
  std::jthread third([&] { committer.Submit(Epoch(3)); });
  EXPECT_EQ(committer.queued(), 1u) << "2 waits; 3 waits for its place";
  EXPECT_THAT(sealed(), IsEmpty());
  go_on.count_down();
  third.join();
  committer.Stop();
  EXPECT_THAT(sealed(), ElementsAre("1", "2", "3"));
}

TEST_F(CommitterTest, AFailureReachesEveryLaterEpochAndNote) {
  Committer committer(log_.get(), Collect(), {.max_queued = 8});
  ASSERT_TRUE(committer.AppendNote(kOp, 0, false, "fine").ok());
  fs_.FailNth(FileOperation::kSync, 1, absl::DataLossError("bad sector"));
  committer.Submit(Epoch(1));
  committer.Submit(Epoch(2));
  committer.Submit(Epoch(3));
  committer.Stop();
  EXPECT_THAT(sealed(), ElementsAre("DATA_LOSS", "DATA_LOSS", "DATA_LOSS"));
}

TEST_F(CommitterTest, SynchronousModeDoesNothingByItself) {
  Committer committer(log_.get(), Collect(), {.threaded = false});
  committer.Submit(Epoch(1));
  committer.Submit(Epoch(2));
  EXPECT_EQ(committer.queued(), 2u);
  EXPECT_EQ(log_->last_sealed(), 0u);
  ASSERT_TRUE(committer.AppendNote(kOp, 0, false, "x").ok());
  committer.CommitNow();
  EXPECT_EQ(committer.queued(), 0u);
  EXPECT_THAT(sealed(), ElementsAre("1", "2"));
  committer.Submit(Epoch(3));
  committer.Stop();
  EXPECT_THAT(sealed(), ElementsAre("1", "2", "3"));
}

TEST_F(CommitterTest, ARefusedEpochDoesNotTakeItsNotesWithIt) {
  Committer committer(log_.get(), Collect(), {.max_queued = 8});
  committer.Submit(Epoch(5));
  committer.Submit(Epoch(5));
  EXPECT_TRUE(committer.AppendNote(kOp, 0, false, "x").ok());
  committer.Submit(Epoch(6));
  committer.Stop();
  EXPECT_THAT(sealed(), ElementsAre("5", "INVALID_ARGUMENT", "6"));
}

}  // namespace
}  // namespace hornbeam::engine
