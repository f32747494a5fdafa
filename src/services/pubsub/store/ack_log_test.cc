#include "services/pubsub/store/ack_log.h"

#include "base/memory_file_system.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AckLogTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fs_.CreateDirectories("d").ok()); }
  StatusOr<AckState> Reopen(Seq start = 0) {
    log_ = nullptr;
    AckState state;
    HB_ASSIGN_OR_RETURN(log_, AckLog::Open(&fs_, "d/a.acks", start, &state));
    return state;
  }

  MemoryFileSystem fs_;
  std::unique_ptr<AckLog> log_;
};

TEST_F(AckLogTest, AppendedIsDurable) {
  EXPECT_EQ(Reopen(5)->floor, 5u);
  ASSERT_TRUE(log_->Append({10, {{12, 14}, {20, 21}}}).ok());
  ASSERT_TRUE(log_->Append({11, {{14, 16}, {30, 31}}}).ok());
  fs_.DropUnsynced();
  const AckState state = *Reopen();
  EXPECT_EQ(state.floor, 11u);
  EXPECT_THAT(state.ranges, ElementsAre(SeqRange{12, 16}, SeqRange{20, 21}, SeqRange{30, 31}));
}

TEST_F(AckLogTest, TheFloorSwallowsRanges) {
  ASSERT_TRUE(Reopen().ok());
  ASSERT_TRUE(log_->Append({0, {{1, 3}, {3, 7}}}).ok());
  ASSERT_TRUE(log_->Append({1, {}}).ok());
  const AckState state = *Reopen();
  EXPECT_EQ(state.floor, 7u);
  EXPECT_THAT(state.ranges, IsEmpty());
}

TEST_F(AckLogTest, AfterAFailedSyncARewriteMakesItGood) {
  ASSERT_TRUE(Reopen().ok());
  fs_.FailNth(FileOperation::kSync, 1, absl::InternalError("sync"));
  EXPECT_FALSE(log_->Append({4, {}}).ok());
  EXPECT_TRUE(log_->WantsRewrite());
  EXPECT_FALSE(log_->Append({5, {}}).ok());
  ASSERT_TRUE(log_->Rewrite({6, {}}).ok());
  ASSERT_TRUE(log_->Append({7, {}}).ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Reopen()->floor, 7u);
}

TEST_F(AckLogTest, ATornTailIsCutAndDamageBeforeItIsAnError) {
  ASSERT_TRUE(Reopen().ok());
  ASSERT_TRUE(log_->Append({100, {}}).ok());
  const std::string before = *ReadFile(fs_, "d/a.acks");
  ASSERT_TRUE(log_->Append({200, {{300, 400}}}).ok());
  const std::string after = *ReadFile(fs_, "d/a.acks");
  for (size_t size = before.size(); size < after.size(); ++size) {
    AckState state;
    EXPECT_EQ(*ReadAckFile(std::string_view(after).substr(0, size), &state), before.size());
    EXPECT_EQ(state.floor, 100u);
  }
  fs_.Overwrite("d/a.acks", before.size() - 1, "\x7f");
  const Status status = Reopen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("d/a.acks"));
}

TEST_F(AckLogTest, ALongFileAsksToBeRewritten) {
  ASSERT_TRUE(Reopen().ok());
  AckState delta;
  for (Seq seq = 1; seq < 4000; seq += 2) delta.ranges.push_back({seq, seq + 1});
  int appends = 0;
  for (; !log_->WantsRewrite(); ++appends) {
    ASSERT_LT(appends, 1000);
    ASSERT_TRUE(log_->Append(delta).ok());
  }
  EXPECT_GT(appends, 10);
  ASSERT_TRUE(log_->Rewrite(delta).ok());
  EXPECT_FALSE(log_->WantsRewrite());
  EXPECT_EQ(Reopen()->ranges, delta.ranges);
}

}  // namespace
}  // namespace hornbeam::services::pubsub
