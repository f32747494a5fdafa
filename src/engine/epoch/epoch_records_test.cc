#include "engine/epoch/epoch_records.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hornbeam::engine {
namespace {

constexpr OperatorId kOp{7};

TEST(EpochRecordsTest, WhatIsAddedIsRead) {
  EpochRecords records;
  EXPECT_TRUE(records.empty());
  records.Add(kOp, 3, false, "grows");
  records.Begin(kOp, 4, true)->append("whole");
  records.End();
  records.Add(OperatorId{0xffffffff}, 0xffffffff, true, "");
  EXPECT_EQ(records.record_count(), 3u);
  EXPECT_EQ(records.size_bytes(), 3 * EpochRecords::kHeaderBytes + 10);

  RecordReader reader(records.bytes());
  RecordView record;
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.key, (UnitKey{kOp, 3}));
  EXPECT_FALSE(record.replaces);
  EXPECT_EQ(record.payload, "grows");
  EXPECT_EQ(record.offset, 0u);
  EXPECT_EQ(record.size_bytes, 17u);
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.key, (UnitKey{kOp, 4}));
  EXPECT_TRUE(record.replaces);
  EXPECT_EQ(record.payload, "whole");
  EXPECT_EQ(record.offset, 17u);
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.key, (UnitKey{OperatorId{0xffffffff}, 0xffffffff}));
  EXPECT_EQ(record.payload, "");
  EXPECT_FALSE(reader.Next(&record));
  EXPECT_TRUE(reader.ok());
}

TEST(EpochRecordsTest, AnAbandonedRecordLeavesNoTrace) {
  EpochRecords records;
  records.Add(kOp, 1, false, "x");
  const std::string before(records.bytes());
  records.Begin(kOp, 2, true)->append("half");
  records.Abandon();
  EXPECT_EQ(records.bytes(), before);
  EXPECT_EQ(records.record_count(), 1u);
  records.Clear();
  EXPECT_TRUE(records.empty());
  EXPECT_EQ(records.record_count(), 0u);
}

TEST(EpochRecordsTest, MovesLeaveTheOldOneUsable) {
  EpochRecords records;
  records.Add(kOp, 1, false, "x");
  EpochRecords moved = std::move(records);
  EXPECT_EQ(moved.record_count(), 1u);
}

TEST(EpochRecordsTest, ARecordThatIsTooLargeIsAnErrorOfTheWhole) {
  EpochRecords records(/*max_payload_bytes=*/10);
  records.Add(kOp, 5, true, "eleven byte");
  EXPECT_TRUE(absl::IsResourceExhausted(records.status())) << records.status();
  EXPECT_TRUE(records.empty());
  records.Clear();
  EXPECT_TRUE(records.status().ok());
}

TEST(RecordReaderTest, EveryPrefixIsRefusedOrShort) {
  EpochRecords records;
  records.Add(kOp, 3, false, "grows");
  records.Add(kOp, 4, true, "whole");
  for (size_t size = 0; size < records.size_bytes(); ++size) {
    RecordReader reader(records.bytes().substr(0, size));
    RecordView record;
    size_t read = 0;
    while (reader.Next(&record)) ++read;
    EXPECT_EQ(reader.ok(), size == 0 || size == 17) << size;
    EXPECT_EQ(read, size >= 17 ? 1u : 0u) << size;
  }
}

}  // namespace
}  // namespace hornbeam::engine
