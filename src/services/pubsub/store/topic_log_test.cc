#include "services/pubsub/store/topic_log.h"

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

using ::testing::HasSubstr;

constexpr TopicLogOptions kTiny{
    .segment_bytes = 2000, .block_bytes = 300, .index_bytes = 200, .cache_bytes = 1};

EncodedMessages Encode(const std::vector<std::string>& bodies) {
  EncodedMessages encoded;
  for (const std::string& body : bodies) PutBytes(&encoded.payload, body);
  encoded.count = static_cast<uint32_t>(bodies.size());
  return encoded;
}

class TopicLogTest : public testing::Test {
 protected:
  Status Reopen() {
    log_ = nullptr;
    HB_ASSIGN_OR_RETURN(log_, TopicLog::Open(&fs_, "t", kTiny));
    return absl::OkStatus();
  }
  // Appends `count` messages that say their own number; they are one commit of several publishes.
  Status Publish(size_t count) {
    std::vector<EncodedMessages> batches;
    for (size_t i = 0; i < count; ++i) {
      batches.push_back(Encode({"message " + std::to_string(log_->end() + i)}));
    }
    std::vector<const EncodedMessages*> pointers;
    for (const EncodedMessages& batch : batches) pointers.push_back(&batch);
    return log_->Append(pointers, 1000 + log_->end(), 42);
  }
  void ExpectHolds(Seq begin, Seq end) {
    for (Seq seq = begin; seq < end; ++seq) {
      const auto run = log_->Find(seq);
      ASSERT_TRUE(run.ok()) << run.status();
      EXPECT_EQ((*run)->Get(seq).body, "message " + std::to_string(seq));
    }
  }
  std::vector<std::string> Segments() {
    std::vector<std::string> names = *fs_.List("t");
    std::sort(names.begin(), names.end());
    return names;
  }

  MemoryFileSystem fs_;
  std::unique_ptr<TopicLog> log_;
};

TEST_F(TopicLogTest, HoldsWhatWasAppendedOverRestarts) {
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(log_->end(), 0u);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Publish(static_cast<size_t>(1 + i % 37)).ok());
  const Seq end = log_->end();
  ExpectHolds(0, end);
  EXPECT_GT(Segments().size(), 3u);
  const uint64_t bytes = log_->BytesBefore(end);
  fs_.DropUnsynced();
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(log_->end(), end);
  EXPECT_EQ(log_->BytesBefore(end), bytes);
  ExpectHolds(0, end);
  ASSERT_TRUE(Publish(5).ok());
  ExpectHolds(end, end + 5);
}

TEST_F(TopicLogTest, BytesBeforeGrowsWithSeq) {
  ASSERT_TRUE(Reopen().ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Publish(30).ok());
  uint64_t last = 0;
  for (Seq seq = 0; seq <= log_->end(); ++seq) {
    EXPECT_GE(log_->BytesBefore(seq), last);
    last = log_->BytesBefore(seq);
  }
  EXPECT_EQ(log_->BytesBefore(0), 0u);
}

TEST_F(TopicLogTest, WholeSegmentsAreDropped) {
  ASSERT_TRUE(Reopen().ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Publish(20).ok());
  const size_t before = Segments().size();
  ASSERT_TRUE(log_->DropBelow(300).ok());
  EXPECT_LT(Segments().size(), before);
  EXPECT_LE(log_->begin(), 300u);
  ExpectHolds(log_->begin(), log_->end());
  ASSERT_TRUE(log_->DropBelow(log_->end()).ok());
  EXPECT_EQ(Segments().size(), 1u);
  const Seq end = log_->end();
  const uint64_t ids = log_->end_message_id();
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(log_->end(), end);
  EXPECT_EQ(log_->end_message_id(), ids);
}

// Every append that returned OK is there after a power cut that keeps a random part of the rest,
// whatever fails.
TEST_F(TopicLogTest, NothingAppendedIsLostWhateverFails) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    MemoryFileSystem fs;
    Seq durable = 0;  // appends of these seqs returned OK
    for (int life = 0; life < 6; ++life) {
      StatusOr<std::unique_ptr<TopicLog>> log = TopicLog::Open(&fs, "t", kTiny);
      ASSERT_TRUE(log.ok()) << log.status();
      ASSERT_GE((*log)->end(), durable);
      // What lies behind was an append that failed or did not return: it counts from now on.
      durable = (*log)->end();
      for (Seq seq = 0; seq < durable; ++seq) {
        const auto run = (*log)->Find(seq);
        ASSERT_TRUE(run.ok()) << run.status();
        ASSERT_EQ((*run)->Get(seq).body.substr(0, 5), "body ");
      }
      for (int step = 0; step < 12; ++step) {
        if (rng.OneIn(6)) {
          constexpr FileOperation kFaults[] = {FileOperation::kAppend, FileOperation::kSync,
                                               FileOperation::kCreate,
                                               FileOperation::kSyncDirectory};
          fs.FailNth(kFaults[rng.Below(4)], 1 + rng.Below(3), absl::InternalError("injected"));
        }
        const EncodedMessages batch = Encode(
            std::vector<std::string>(1 + rng.Below(20), "body " + std::to_string(rng.Next())));
        const EncodedMessages* pointer = &batch;
        if ((*log)->Append({&pointer, 1}, durable, 1).ok()) durable += batch.count;
        ASSERT_EQ((*log)->end(), durable);
      }
      fs.ClearFaults();
      switch (rng.Below(3)) {
        case 0: fs.DropUnsynced(); break;
        case 1: fs.DropUnsynced(&rng); break;
        default: break;  // as after kill -9: the page cache is still there
      }
    }
  }
}

TEST_F(TopicLogTest, DamageThatWasDurableIsAnErrorThatNamesTheFile) {
  ASSERT_TRUE(Reopen().ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Publish(3).ok());
  log_ = nullptr;
  const std::string path = "t/" + Segments()[0];
  const std::string good = *ReadFile(fs_, path);
  const size_t last_commit = good.rfind("HBLK");
  for (size_t at = 0; at < last_commit; at += 7) {
    fs_.Overwrite(path, at, std::string(1, static_cast<char>(good[at] ^ 0x41)));
    const Status status = Reopen();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    fs_.Overwrite(path, at, good.substr(at, 1));
  }
  ASSERT_TRUE(Reopen().ok());
  ExpectHolds(0, 15);
}

TEST_F(TopicLogTest, ATornTailIsCutSilently) {
  ASSERT_TRUE(Reopen().ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Publish(3).ok());
  log_ = nullptr;
  const std::string path = "t/" + Segments()[0];
  const std::string good = *ReadFile(fs_, path);
  const size_t last_commit = good.rfind("HBLK");
  for (size_t size = last_commit; size < good.size(); size += 5) {
    MemoryFileSystem fs;
    ASSERT_TRUE(fs.CreateDirectories("t").ok());
    ASSERT_TRUE(WriteFileAtomically(fs, path, good.substr(0, size)).ok());
    StatusOr<std::unique_ptr<TopicLog>> log = TopicLog::Open(&fs, "t", kTiny);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ((*log)->end(), 12u);
  }
}

TEST_F(TopicLogTest, AMissingSegmentIsAnError) {
  ASSERT_TRUE(Reopen().ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Publish(20).ok());
  log_ = nullptr;
  ASSERT_GT(Segments().size(), 3u);
  ASSERT_TRUE(fs_.Remove("t/" + Segments()[1]).ok());
  EXPECT_EQ(Reopen().code(), absl::StatusCode::kDataLoss);
}

TEST_F(TopicLogTest, AFullDiskRefusesAndGoesOnWhenThereIsRoom) {
  ASSERT_TRUE(Reopen().ok());
  ASSERT_TRUE(Publish(10).ok());
  fs_.SetCapacity(fs_.UsedBytes() + 100);
  EXPECT_EQ(Publish(100).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(Publish(100).ok());
  fs_.SetCapacity(UINT64_MAX);
  ASSERT_TRUE(Publish(10).ok());
  ExpectHolds(0, 20);
  ASSERT_TRUE(Reopen().ok());
  ExpectHolds(0, 20);
  EXPECT_EQ(log_->end(), 20u);
}

}  // namespace
}  // namespace hornbeam::services::pubsub
