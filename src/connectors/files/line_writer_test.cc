#include "connectors/files/line_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/memory_file_system.h"

namespace hornbeam::connectors {
namespace {

using engine::ProcessingMode;
using testing::HasSubstr;

constexpr char kPath[] = "out/lines.txt";

// What is saved is on disk for good; of what is only remembered, a crash forgets as much as the test
// says.
class FakeJournal final : public engine::SinkJournal {
 public:
  Status Save(std::string_view state) override {
    states_ = {std::string(state)};
    delivered_ = {delivered_.back()};
    return absl::OkStatus();
  }
  void Remember(std::string_view state) override { remembered_.assign(state); }
  void Answer(std::string) override {}
  void Confirm(size_t delivered) {
    states_.push_back(remembered_);
    delivered_.push_back(delivered);
  }
  void Crash(size_t forget) {
    for (; forget > 0 && states_.size() > 1; --forget) {
      states_.pop_back();
      delivered_.pop_back();
    }
  }
  const std::string& state() const { return states_.back(); }
  // How many deliveries are known to be confirmed.
  size_t delivered() const { return delivered_.back(); }

 private:
  std::string remembered_;
  std::vector<std::string> states_ = {""};
  std::vector<size_t> delivered_ = {0};
};

class LineWriterTest : public testing::Test {
 protected:
  LineWriterTest() { EXPECT_TRUE(fs_.CreateDirectories("out").ok()); }

  Status Open() {
    writer_ = std::make_unique<LineWriter>(&fs_, kPath, mode_);
    return writer_->Open(&journal_, journal_.state());
  }
  Status Deliver(size_t number) {
    const std::string a = absl::StrCat("a", number), b, c = absl::StrCat("c", number);
    const std::vector<std::string_view> rows = {a, b, c};
    const Status status = writer_->Deliver({number + 1, 0, rows});
    if (status.ok()) journal_.Confirm(number + 1);
    return status;
  }
  // What deliveries 0 to `end` hold.
  static std::string Expected(size_t end) {
    std::string expected;
    for (size_t i = 0; i < end; ++i) absl::StrAppend(&expected, "a", i, "\n\nc", i, "\n");
    return expected;
  }
  std::string Content() { return *ReadFile(fs_, kPath); }
  void PowerCut(size_t forget) {
    writer_.reset();
    fs_.DropUnsynced();
    journal_.Crash(forget);
  }

  MemoryFileSystem fs_;
  FakeJournal journal_;
  ProcessingMode mode_ = ProcessingMode::kExactlyOnce;
  std::unique_ptr<LineWriter> writer_;
};

TEST_F(LineWriterTest, TheFileAndItsNameOutliveAPowerCut) {
  for (const ProcessingMode mode : {ProcessingMode::kExactlyOnce, ProcessingMode::kAtLeastOnce}) {
    mode_ = mode;
    journal_ = FakeJournal();
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Deliver(0).ok());
    PowerCut(0);
    EXPECT_EQ(Content(), Expected(1));
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Deliver(1).ok());
    EXPECT_EQ(Content(), Expected(2));
  }
}

TEST_F(LineWriterTest, AJobThatBeginsAnewEmptiesTheFileForGood) {
  for (const ProcessingMode mode : {ProcessingMode::kExactlyOnce, ProcessingMode::kAtLeastOnce}) {
    mode_ = mode;
    journal_ = FakeJournal();
    ASSERT_TRUE(WriteFileAtomically(fs_, kPath, "of another job\n").ok());
    ASSERT_TRUE(Open().ok());
    PowerCut(0);
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Deliver(0).ok());
    EXPECT_EQ(Content(), Expected(1));
  }
}

TEST_F(LineWriterTest, ExactlyOnceCutsOffWhatItDoesNotKnowToBeConfirmed) {
  ASSERT_TRUE(Open().ok());
  for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(Deliver(i).ok());
  PowerCut(2);
  ASSERT_EQ(journal_.delivered(), 2u);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Content(), Expected(2));
}

TEST_F(LineWriterTest, AtLeastOnceKeepsWhatItDoesNotKnowToBeConfirmed) {
  mode_ = ProcessingMode::kAtLeastOnce;
  ASSERT_TRUE(Open().ok());
  for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(Deliver(i).ok());
  PowerCut(2);  // the source has acknowledged all four
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Content(), Expected(4));
  ASSERT_TRUE(Deliver(4).ok());
  PowerCut(0);
  EXPECT_EQ(Content(), Expected(5));
}

TEST_F(LineWriterTest, AtLeastOnceCutsALineWithoutAnEnd) {
  mode_ = ProcessingMode::kAtLeastOnce;
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Deliver(0).ok());
  // Longer than what is looked at in one step.
  for (const std::string& torn : {std::string("torn"), std::string(200'000, 'x')}) {
    ASSERT_TRUE((*fs_.OpenForAppend(kPath))->Append(torn).ok());
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(Content(), Expected(1));
  }
  ASSERT_TRUE((*fs_.OpenForAppend(kPath))->Append("whole\ntorn").ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Content(), Expected(1) + "whole\n");
}

TEST_F(LineWriterTest, TheModeMayChangeFromRunToRun) {
  mode_ = ProcessingMode::kAtLeastOnce;
  ASSERT_TRUE(Open().ok());
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(Deliver(i).ok());
  PowerCut(1);
  mode_ = ProcessingMode::kExactlyOnce;
  ASSERT_TRUE(Open().ok());  // what was written at least once may be acknowledged
  EXPECT_EQ(Content(), Expected(2));
  journal_.Confirm(2);
  for (size_t i = 2; i < 4; ++i) ASSERT_TRUE(Deliver(i).ok());
  PowerCut(SIZE_MAX);
  mode_ = ProcessingMode::kAtLeastOnce;
  ASSERT_TRUE(Open().ok());  // what was written exactly once comes again
  EXPECT_EQ(Content(), Expected(2));
  for (size_t i = 2; i < 4; ++i) ASSERT_TRUE(Deliver(i).ok());
  PowerCut(SIZE_MAX);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Content(), Expected(4));
}

// Each step that writes fails once, and the power goes; with it go some of the last notes.
TEST_F(LineWriterTest, CrashesAtEveryPointAndIsRightInTheEnd) {
  constexpr size_t kDeliveries = 4;
  for (const ProcessingMode mode : {ProcessingMode::kExactlyOnce, ProcessingMode::kAtLeastOnce}) {
    for (const FileOperation operation :
         {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSync,
          FileOperation::kSyncDirectory, FileOperation::kTruncate, FileOperation::kRewriteInPlace}) {
      for (uint64_t nth = 1; nth <= 6; ++nth) {
        for (size_t forget = 0; forget <= 2; ++forget) {
          for (uint64_t seed = 0; seed < 3; ++seed) {
            SCOPED_TRACE(absl::StrCat("mode ", static_cast<int>(mode), " operation ",
                                      static_cast<int>(operation), " nth ", nth, " forget ", forget,
                                      " seed ", seed));
            MemoryFileSystem fs;
            ASSERT_TRUE(fs.CreateDirectories("out").ok());
            FakeJournal journal;
            Rng rng(seed + 1);
            size_t acknowledged = 0;
            fs.FailNth(operation, nth, absl::InternalError("the disk is gone"));
            for (int run = 0; run < 10; ++run) {
              LineWriter writer(&fs, kPath, mode);
              Status status = writer.Open(&journal, journal.state());
              // At least once, what is acknowledged does not come again, whatever is known here.
              size_t next = mode == ProcessingMode::kExactlyOnce
                                ? journal.delivered()
                                : std::max(acknowledged, journal.delivered());
              while (status.ok() && next < kDeliveries) {
                const std::string line = absl::StrCat("line ", next);
                const std::vector<std::string_view> rows = {line};
                status = writer.Deliver({next + 1, 0, rows});
                if (!status.ok()) break;
                journal.Confirm(++next);
                acknowledged = next;
                if (next == 2 && run == 0) break;
              }
              if (status.ok() && run > 1) break;
              if (seed == 0) {
                fs.DropUnsynced();
              } else if (mode == ProcessingMode::kExactlyOnce) {
                fs.DropUnsynced(&rng);
              }
              journal.Crash(forget);
            }
            const std::string content = *ReadFile(fs, kPath);
            const std::vector<std::string> lines = absl::StrSplit(content, '\n');
            if (mode == ProcessingMode::kExactlyOnce) {
              EXPECT_EQ(content, "line 0\nline 1\nline 2\nline 3\n");
            } else {
              const std::set<std::string> each(lines.begin(), lines.end());
              EXPECT_THAT(each, testing::ElementsAre("", "line 0", "line 1", "line 2", "line 3"));
            }
          }
        }
      }
    }
  }
}

TEST_F(LineWriterTest, AFileThatIsMissingOrShorterFailsTheStart) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Deliver(0).ok());
  ASSERT_TRUE(fs_.Truncate(kPath, 2).ok());
  for (const ProcessingMode mode : {ProcessingMode::kExactlyOnce, ProcessingMode::kAtLeastOnce}) {
    mode_ = mode;
    const Status shorter = Open();
    EXPECT_EQ(shorter.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(shorter.message()), HasSubstr("has 2 bytes and the job had written 7"));
  }
  ASSERT_TRUE(fs_.Remove(kPath).ok());
  const Status missing = Open();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(kPath));
}

TEST_F(LineWriterTest, MalformedStateIsRefused) {
  ASSERT_TRUE(Open().ok());
  for (const std::string& state : {std::string("\x80"), std::string("\x00", 1),
                                   std::string("\x00\x02", 2), std::string("\x00\x00\x00", 3)}) {
    LineWriter writer(&fs_, kPath, mode_);
    EXPECT_EQ(writer.Open(&journal_, state).code(), absl::StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace hornbeam::connectors
