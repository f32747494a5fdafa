#include "services/pubsub/store/block.h"

#include <string>

#include "base/bytes.h"
#include "gtest/gtest.h"
#include "services/pubsub/store/run.h"

namespace hornbeam::services::pubsub {
namespace {

std::string TwoBlocks() {
  std::string payload;
  PutBytes(&payload, "one");
  PutBytes(&payload, "");
  std::string bytes;
  BlockHeader header;
  header.message_count = 2;
  header.starts_commit = true;
  header.first_seq = 10;
  header.first_message_id = 100;
  header.publish_time_us = 5;
  AppendBlock(&bytes, header, payload);
  header.message_count = 1;
  header.starts_commit = false;
  header.first_seq = 12;
  header.first_message_id = 200;
  header.publish_time_us = 6;
  payload.clear();
  PutBytes(&payload, "three");
  AppendBlock(&bytes, header, payload);
  return bytes;
}

TEST(BlockTest, ARunFindsEveryMessage) {
  const auto run = Run::Parse(TwoBlocks());
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->first_seq(), 10u);
  EXPECT_EQ(run->end_seq(), 13u);
  EXPECT_EQ(run->Get(10).body, "one");
  EXPECT_EQ(run->Get(11).body, "");
  EXPECT_EQ(run->Get(11).message_id, 101u);
  EXPECT_EQ(run->Get(12).body, "three");
  EXPECT_EQ(run->Get(12).message_id, 200u);
  EXPECT_EQ(run->Get(12).publish_time_us, 6);
}

TEST(BlockTest, EveryFlippedBitIsNoticed) {
  const std::string good = TwoBlocks();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(Run::Parse(bad), nullptr) << "bit " << bit;
  }
}

TEST(BlockTest, EveryCutIsNoticed) {
  const std::string good = TwoBlocks();
  BlockHeader first;
  ASSERT_EQ(ParseBlock(good, &first), BlockCheck::kOk);
  for (size_t size = 0; size < good.size(); ++size) {
    if (size == first.total_bytes()) continue;
    EXPECT_EQ(Run::Parse(good.substr(0, size)), nullptr) << size;
  }
}

TEST(BlockTest, CommitStartsAreFoundAnywhere) {
  const std::string good = TwoBlocks();
  BlockHeader first;
  ASSERT_EQ(ParseBlock(good, &first), BlockCheck::kOk);
  EXPECT_TRUE(HoldsCommitStart("noise HBLK noise" + good));
  EXPECT_FALSE(HoldsCommitStart(good.substr(first.total_bytes())))
      << "the second continues a commit";
  EXPECT_FALSE(HoldsCommitStart(""));
}

TEST(BlockTest, SegmentHeader) {
  std::string header;
  AppendSegmentHeader(&header, 7);
  EXPECT_EQ(header.size(), kSegmentHeaderBytes);
  EXPECT_TRUE(CheckSegmentHeader(header, 7));
  EXPECT_FALSE(CheckSegmentHeader(header, 8));
  EXPECT_FALSE(CheckSegmentHeader(header.substr(1), 7));
}

}  // namespace
}  // namespace hornbeam::services::pubsub
