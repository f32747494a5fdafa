#include "engine/epoch/job_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/memory_file_system.h"
#include "engine/epoch/log_format.h"

namespace hornbeam::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr OperatorId kOp{1};
constexpr OperatorId kSink{2};

// Each record and note as a line.
class Lines final : public ReplayVisitor {
 public:
  Status OnRecord(EpochId epoch, OperatorId op, uint32_t unit, bool replaces,
                  std::string_view payload) override {
    lines.push_back(absl::StrCat(epoch, " ", static_cast<uint32_t>(op), "/", unit,
                                 replaces ? " = " : " + ", std::string(payload)));
    return absl::OkStatus();
  }
  Status OnNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    lines.push_back(absl::StrCat("note ", static_cast<uint32_t>(op), "/", unit,
                                 replaces ? " = " : " + ", std::string(payload)));
    return absl::OkStatus();
  }

  std::vector<std::string> lines;
};

class JobLogTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<JobLog>> TryOpen() { return JobLog::Open(&fs_, "/job", options_); }
  std::unique_ptr<JobLog> Open() {
    auto log = TryOpen();
    HB_CHECK(log.ok());
    return *std::move(log);
  }
  std::vector<std::string> Replay(JobLog& log) {
    Lines visitor;
    const Status status = log.Recover(&visitor);
    EXPECT_TRUE(status.ok()) << status;
    return visitor.lines;
  }
  static Status Seal(JobLog& log, EpochId epoch, const EpochRecords& part) {
    const EpochRecords* const parts[] = {&part};
    return log.Seal(epoch, parts);
  }
  static EpochRecords Part(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) {
    EpochRecords part;
    part.Add(op, unit, replaces, payload);
    return part;
  }

  MemoryFileSystem fs_;
  JobLogOptions options_ = {.job_id = "orders", .seed = 1};
};

TEST_F(JobLogTest, ANewLogIsEmpty) {
  auto log = Open();
  EXPECT_EQ(log->last_sealed(), 0u);
  EXPECT_THAT(Replay(*log), IsEmpty());
  log.reset();
  log = Open();
  EXPECT_EQ(log->last_sealed(), 0u);
  EXPECT_THAT(Replay(*log), IsEmpty());
}

TEST_F(JobLogTest, SealedEpochsAndNotesSurviveAPowerCut) {
  auto log = Open();
  EpochRecords a, b;
  a.Add(kOp, 0, false, "a");
  a.Add(kOp, 1, false, "b");
  b.Add(kOp, 2, true, "c");
  const EpochRecords empty;
  const EpochRecords* const parts[] = {&a, &empty, &b};
  ASSERT_TRUE(log->Seal(1, parts).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 0, false, "offset 5", true).ok());
  ASSERT_TRUE(log->Seal(2, {}).ok());
  ASSERT_TRUE(Seal(*log, 4, Part(kOp, 0, false, "d")).ok()) << "epochs may have gaps";
  fs_.DropUnsynced();
  log = Open();
  EXPECT_EQ(log->last_sealed(), 4u);
  EXPECT_THAT(Replay(*log), ElementsAre("1 1/0 + a", "1 1/1 + b", "1 1/2 = c",
                                        "note 2/0 + offset 5", "4 1/0 + d"));
  EXPECT_EQ(log->discarded_tail_bytes(), 0u);
}

TEST_F(JobLogTest, ReplayLeavesOutWhatIsVoid) {
  auto log = Open();
  ASSERT_TRUE(Seal(*log, 1, Part(kOp, 0, false, "old")).ok());
  ASSERT_TRUE(Seal(*log, 2, Part(kOp, 1, false, "ended")).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 0, false, "old", true).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 1, false, "kept", true).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 0, true, "new", true).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 2, false, "ended", true).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 2, true, "", true).ok());
  EpochRecords part;
  part.Add(kOp, 0, false, "void in the same epoch");
  part.Add(kOp, 0, true, "whole");
  part.Add(kOp, 0, false, "more");
  part.Add(kOp, 1, true, "");
  ASSERT_TRUE(Seal(*log, 3, part).ok());
  EXPECT_EQ(log->live_bytes(), 12 + 5u + 12 + 4u + 4u + 3u);
  log.reset();
  log = Open();
  EXPECT_THAT(Replay(*log),
              ElementsAre("note 2/1 + kept", "note 2/0 = new", "3 1/0 = whole", "3 1/0 + more"));
  EXPECT_EQ(log->live_bytes(), 12 + 5u + 12 + 4u + 4u + 3u);
}

TEST_F(JobLogTest, AnUnsyncedNoteIsDurableWithTheNextSync) {
  auto log = Open();
  ASSERT_TRUE(log->AppendNote(kSink, 0, false, "one", false).ok());
  ASSERT_TRUE(log->Sync().ok());
  ASSERT_TRUE(log->AppendNote(kSink, 0, false, "two", false).ok());
  ASSERT_TRUE(log->Seal(1, {}).ok());
  ASSERT_TRUE(log->AppendNote(kSink, 0, false, "three", false).ok());
  fs_.DropUnsynced();
  log = Open();
  EXPECT_THAT(Replay(*log), ElementsAre("note 2/0 + one", "note 2/0 + two"));
}

TEST_F(JobLogTest, AnEpochThatDoesNotGrowIsRefusedAndTheLogGoesOn) {
  auto log = Open();
  ASSERT_TRUE(log->Seal(3, {}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(log->Seal(3, {})));
  EXPECT_TRUE(absl::IsInvalidArgument(log->Seal(0, {})));
  EpochRecords large(/*max_payload_bytes=*/10);
  large.Add(kOp, 5, true, "eleven byte");
  EXPECT_TRUE(absl::IsResourceExhausted(Seal(*log, 4, large)));
  EXPECT_TRUE(log->Seal(4, {}).ok());
}

TEST_F(JobLogTest, ReplayComesBeforeWriting) {
  auto log = Open();
  EXPECT_THAT(Replay(*log), IsEmpty());
  EXPECT_THAT(Replay(*log), IsEmpty());
  ASSERT_TRUE(log->Seal(1, {}).ok());
  Lines lines;
  EXPECT_TRUE(absl::IsFailedPrecondition(log->Recover(&lines)));
}

TEST_F(JobLogTest, OneProcessRunsAJob) {
  auto log = Open();
  const Status second = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_EQ(second.message(),
            "job 'orders' is already running: another process holds '/job'; stop that one first");
  log.reset();
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(JobLogTest, AnotherJobsLogIsRefused) {
  Open();
  options_.job_id = "flights";
  const Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(
      status.message(),
      "the log in '/job' is that of job 'orders', not of 'flights'; give this job a directory of "
      "its own");
}

TEST_F(JobLogTest, AFailureMakesTheLogUnusableAndSaysWhatToDo) {
  auto log = Open();
  ASSERT_TRUE(log->Seal(1, {}).ok());
  fs_.FailNth(FileOperation::kSync, 1, absl::DataLossError("syncing '/job/1': Input/output error"));
  const Status status = Seal(*log, 2, Part(kOp, 0, false, "x"));
  EXPECT_EQ(status,
            absl::DataLossError("sealing epoch 2: syncing '/job/1': Input/output error; everything "
                                "up to epoch 1 is safe: check that disk and start the job again"));
  EXPECT_EQ(log->Seal(2, {}), status);
  EXPECT_EQ(log->AppendNote(kSink, 0, false, "x", true), status);
  EXPECT_EQ(log->Sync(), status);
  EXPECT_EQ(log->Close(), status);
  EXPECT_EQ(log->last_sealed(), 1u);
}

TEST_F(JobLogTest, WhatAFailedSyncLeftReadableIsOnDiskOnceReopened) {
  auto log = Open();
  fs_.FailNth(FileOperation::kSync, 1, absl::DataLossError("bad sector"));
  EXPECT_FALSE(Seal(*log, 1, Part(kOp, 0, false, "x")).ok());
  log.reset();
  log = Open();  // sees the seal in the page cache
  EXPECT_EQ(log->last_sealed(), 1u);
  fs_.DropUnsynced();
  log = Open();
  EXPECT_EQ(log->last_sealed(), 1u);
  EXPECT_THAT(Replay(*log), ElementsAre("1 1/0 + x"));
}

TEST_F(JobLogTest, LargePartsAreSplitIntoFrames) {
  options_.frame_bytes = 100'000;
  auto log = Open();
  EpochRecords part;
  for (uint32_t unit = 0; unit < 10; ++unit) part.Add(kOp, unit, true, std::string(40'000, 'x'));
  part.Add(kOp, 10, true, std::string(300'000, 'y'));
  ASSERT_TRUE(Seal(*log, 1, part).ok());
  log.reset();
  log = Open();
  EXPECT_EQ(Replay(*log).size(), 11u);
}

TEST_F(JobLogTest, RewritingKeepsTheLogSmall) {
  options_.segment_bytes = 4'000;
  options_.rewrite_above_bytes = 20'000;
  auto log = Open();
  ASSERT_TRUE(log->AppendNote(kSink, 0, false, "from the first segment", true).ok());
  for (uint32_t unit = 0; unit < 20; ++unit) {
    ASSERT_TRUE(Seal(*log, 1 + unit, Part(kOp, unit, false, std::string(100, 'x'))).ok());
  }
  EXPECT_THAT(log->UnitsToRewrite(1'000), IsEmpty());
  for (EpochId epoch = 21; epoch < 2'000; ++epoch) {
    EpochRecords part = Part(OperatorId{3}, 0, true, std::string(100, 'x'));
    for (const UnitKey unit : log->UnitsToRewrite(1'000)) {
      part.Add(unit.op, unit.unit, true, std::string(100, 'r'));
    }
    ASSERT_TRUE(Seal(*log, epoch, part).ok());
    ASSERT_LT(log->size_bytes(), 20'000 + 2 * 4'000u);
  }
  EXPECT_EQ(fs_.UsedBytes(), log->size_bytes()) << "removed segments are gone from the disk";
  EXPECT_FALSE(fs_.Exists("/job/0000000001.log"));
  log.reset();
  log = Open();
  EXPECT_EQ(Replay(*log).size(), 22u);
  EXPECT_EQ(fs_.UsedBytes(), log->size_bytes());
}

// What a window's end takes away is an append as well (docs/formats/job_log.md, drop), so a unit's records never become void by
// themselves.
TEST_F(JobLogTest, UnitsThatOnlyEverAppendAreRewrittenToo) {
  options_.segment_bytes = 10'000;
  options_.rewrite_above_bytes = 50'000;
  auto log = Open();
  for (EpochId epoch = 1; epoch < 2'000; ++epoch) {
    const auto unit = static_cast<uint32_t>(epoch % 16);
    EpochRecords part = Part(kOp, unit, false, std::string(1'000, 'x'));
    for (const UnitKey again : log->UnitsToRewrite(10'000)) {
      if (again.unit != unit) part.Add(again.op, again.unit, true, std::string(100, 'r'));
    }
    ASSERT_TRUE(Seal(*log, epoch, part).ok());
    ASSERT_LT(log->size_bytes(), 50'000 + 2 * 10'000u);
  }
  const uint64_t live_bytes = log->live_bytes();
  log.reset();
  log = Open();
  EXPECT_EQ(log->live_bytes(), live_bytes);
  EXPECT_LT(Replay(*log).size(), 100u);
}

TEST_F(JobLogTest, ASinksRecordsGoWithItsMark) {
  options_.segment_bytes = 1'000;
  options_.rewrite_above_bytes = 0;
  auto log = Open();
  for (EpochId epoch = 1; epoch <= 100; ++epoch) {
    ASSERT_TRUE(Seal(*log, epoch, Part(kSink, 0, false, std::string(100, 'x'))).ok());
    if (epoch > 4) log->RetainFrom(kSink, epoch - 4);
    EXPECT_THAT(log->UnitsToRewrite(1'000), IsEmpty());
    ASSERT_LT(log->size_bytes(), 4'000u);
  }
  log.reset();
  log = Open();
  EXPECT_GE(Replay(*log).size(), 5u);
}

TEST_F(JobLogTest, ASegmentThatWillNotGoIsRemovedLater) {
  options_.segment_bytes = 200;
  auto log = Open();
  ASSERT_TRUE(Seal(*log, 1, Part(kOp, 0, true, "x")).ok());
  fs_.FailNth(FileOperation::kRemove, 1, absl::PermissionDeniedError("no"));
  ASSERT_TRUE(Seal(*log, 2, Part(kOp, 0, true, "x")).ok());
  EXPECT_TRUE(fs_.Exists("/job/0000000001.log"));
  ASSERT_TRUE(Seal(*log, 3, Part(kOp, 0, true, "x")).ok());
  EXPECT_FALSE(fs_.Exists("/job/0000000001.log"));
}

TEST_F(JobLogTest, AMissingSegmentIsNamed) {
  options_.segment_bytes = 200;
  auto log = Open();
  for (EpochId epoch = 1; epoch < 4; ++epoch) {
    ASSERT_TRUE(Seal(*log, epoch, Part(kOp, 0, false, "x")).ok());
  }
  log.reset();
  ASSERT_TRUE(fs_.Remove("/job/0000000002.log").ok());
  const Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'/job/0000000002.log' is missing"));
}

TEST_F(JobLogTest, ASegmentInAnothersPlaceIsDamage) {
  options_.segment_bytes = 200;
  auto log = Open();
  for (EpochId epoch = 1; epoch < 4; ++epoch) {
    ASSERT_TRUE(Seal(*log, epoch, Part(kOp, 0, false, "x")).ok());
  }
  log.reset();
  ASSERT_TRUE(fs_.Rename("/job/0000000001.log", "/job/0000000002.log").ok());
  ASSERT_TRUE(
      WriteFileAtomically(fs_, "/job/0000000001.log", *ReadFile(fs_, "/job/0000000002.log")).ok());
  const Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/job/0000000002.log"));
}

TEST_F(JobLogTest, ANewerFormatIsNamed) {
  SegmentHeader header = {.segment = 1, .first_needed_segment = 1, .job_id = "orders"};
  std::string bytes = header.Encode();
  bytes[8] = 2;
  // The checksum of a version-2 header, as that program would have written it.
  std::string zeroed = bytes;
  zeroed.replace(16, 4, 4, '\0');
  const uint32_t checksum = Checksum(zeroed);
  bytes.replace(16, 4, reinterpret_cast<const char*>(&checksum), 4);
  ASSERT_TRUE(fs_.CreateDirectories("/job").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, "/job/0000000001.log", bytes).ok());
  const Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("/job/0000000001.log"), HasSubstr("version 2")));
}

TEST_F(JobLogTest, AClosedLogTakesNothing) {
  auto log = Open();
  ASSERT_TRUE(Seal(*log, 1, Part(kOp, 0, false, "x")).ok());
  ASSERT_TRUE(log->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(log->Seal(2, {})));
  auto again = Open();
  EXPECT_THAT(Replay(*again), ElementsAre("1 1/0 + x"));
  ASSERT_TRUE(again->Seal(2, {}).ok());
}

}  // namespace
}  // namespace hornbeam::engine
