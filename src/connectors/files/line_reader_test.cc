#include "connectors/files/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
#include "engine/batch.h"
#include "model/slice.h"

namespace hornbeam::connectors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPath[] = "in.txt";
using Lines = std::vector<std::string>;

class LineReaderTest : public testing::Test {
 protected:
  void Write(const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(fs_, kPath, content).ok());
  }
  StatusOr<std::unique_ptr<LineReader>> Open(uint32_t split, uint32_t splits, size_t block_bytes) {
    auto reader = std::make_unique<LineReader>(&fs_, kPath, splits, block_bytes);
    engine::ReaderContext context;
    context.split = split;
    HB_RETURN_IF_ERROR(reader->Open(context));
    return reader;
  }
  // Adds up to `max` lines to *lines; false at the end.
  static bool Poll(LineReader* reader, size_t max, Lines* lines) {
    StatusOr<engine::Polled> polled = reader->Poll(max);
    EXPECT_TRUE(polled.ok()) << polled.status();
    if (!polled.ok() || polled->state == engine::Polled::State::kFinished) return false;
    const auto& batch = static_cast<engine::TypedBatch<model::Slice>&>(*polled->batch);
    EXPECT_GT(batch.size(), 0u);
    EXPECT_LE(batch.size(), max);
    for (const model::Slice& line : batch.values) {
      EXPECT_GE(line.padding, LineReader::kPadding);
      size_t sum = 0;  // all of it may be read
      for (size_t i = 0; i < line.size + LineReader::kPadding; ++i) {
        sum += static_cast<unsigned char>(line.data[i]);
      }
      EXPECT_GE(sum, 0u);
      lines->push_back(line.ToString());
    }
    return true;
  }
  Lines ReadSplit(uint32_t split, uint32_t splits, size_t block_bytes, size_t max) {
    StatusOr<std::unique_ptr<LineReader>> reader = Open(split, splits, block_bytes);
    EXPECT_TRUE(reader.ok()) << reader.status();
    Lines lines;
    while (reader.ok() && Poll(reader->get(), max, &lines)) {
    }
    return lines;
  }
  static std::string Position(LineReader* reader) {
    engine::EpochRecords records;
    engine::ReaderRecords out(&records, engine::OperatorId{1}, 0);
    EXPECT_TRUE(reader->OnMarker(1, &out).ok());
    engine::RecordReader in(records.bytes());
    engine::RecordView record;
    EXPECT_TRUE(in.Next(&record));
    EXPECT_TRUE(record.replaces);
    return std::string(record.payload);
  }

  MemoryFileSystem fs_;
};

// By the definition: a line belongs to the block in which it starts, a block to a split.
std::map<uint32_t, Lines> Expected(const std::string& content, uint32_t splits,
                                   size_t block_bytes) {
  std::map<uint32_t, Lines> expected;
  size_t start = 0;
  while (start < content.size()) {
    const size_t end = std::min(content.find('\n', start), content.size());
    expected[static_cast<uint32_t>(start / block_bytes % splits)].push_back(
        content.substr(start, end - start));
    start = end + 1;
  }
  return expected;
}

const Lines& Contents() {
  static const Lines* const contents = [] {
    auto* const all = new Lines{
        "",
        "\n",
        "\n\n\n",
        "a",
        "a\n",
        "a\nb",
        "\na\n\nb\n",
        "crlf\r\nis left\r\n\r\nas it is\r",
        "a line that is longer than many blocks\nshort\nanother one of some length",
        std::string("nul\0s\n\0\n", 8),
        std::string(5000, 'x') + "\n" + std::string(20'000, 'y'),
    };
    Rng rng(7);
    for (int i = 0; i < 20; ++i) {
      std::string content;
      for (int j = 0; j < 60; ++j) content.push_back(rng.Below(4) == 0 ? '\n' : 'a');
      all->push_back(content);
    }
    return all;
  }();
  return *contents;
}

TEST_F(LineReaderTest, GivesEachLineOnceAndInOrderWhateverTheBlocksAndSplits) {
  for (const std::string& content : Contents()) {
    Write(content);
    for (const size_t block_bytes : {1u, 2u, 3u, 7u, 16u, 1000u, 1u << 20}) {
      if (content.size() > 1000 && block_bytes < 16) continue;
      for (const uint32_t splits : {1u, 2u, 3u, 5u}) {
        std::map<uint32_t, Lines> expected = Expected(content, splits, block_bytes);
        for (uint32_t split = 0; split < splits; ++split) {
          SCOPED_TRACE(absl::StrCat("'", content.substr(0, 80), "' blocks of ", block_bytes,
                                    " split ", split, " of ", splits));
          EXPECT_EQ(ReadSplit(split, splits, block_bytes, 1000), expected[split]);
          EXPECT_EQ(ReadSplit(split, splits, block_bytes, 2), expected[split]);
        }
      }
    }
  }
}

TEST_F(LineReaderTest, GoesOnFromEveryPosition) {
  for (const std::string& content : Contents()) {
    Write(content);
    for (const size_t block_bytes : {1u, 3u, 7u, 16u, 1000u}) {
      if (content.size() > 1000 && block_bytes < 16) continue;
      for (const uint32_t splits : {1u, 3u}) {
        for (uint32_t split = 0; split < splits; ++split) {
          SCOPED_TRACE(absl::StrCat("'", content.substr(0, 80), "' blocks of ", block_bytes,
                                    " split ", split, " of ", splits));
          const Lines all = ReadSplit(split, splits, block_bytes, 1000);
          auto first = *Open(split, splits, block_bytes);
          Lines lines;
          do {
            auto second = *Open(split, splits, block_bytes);
            ASSERT_TRUE(second->Restore(true, Position(first.get())).ok());
            Lines both = lines;
            while (Poll(second.get(), 1000, &both)) {
            }
            EXPECT_EQ(both, all) << "from line " << lines.size();
          } while (Poll(first.get(), 1, &lines));
        }
      }
    }
  }
}

TEST_F(LineReaderTest, KeepsLinesAsLongAsTheirBatch) {
  Write("one\ntwo\nthree\nfour\n");
  auto reader = *Open(0, 1, 4);
  std::vector<std::unique_ptr<engine::Batch>> batches;
  while (true) {
    engine::Polled polled = *reader->Poll(10);
    if (polled.state == engine::Polled::State::kFinished) break;
    batches.push_back(std::move(polled.batch));
  }
  reader.reset();
  Lines lines;
  for (const auto& batch : batches) {
    for (const model::Slice& line :
         static_cast<const engine::TypedBatch<model::Slice>&>(*batch).values) {
      lines.push_back(line.ToString());
    }
  }
  EXPECT_THAT(lines, ElementsAre("one", "two", "three", "four"));
}

TEST_F(LineReaderTest, ADrainEndsIt) {
  Write("a\nb\n");
  auto reader = *Open(0, 1, 100);
  Lines lines;
  ASSERT_TRUE(Poll(reader.get(), 1, &lines));
  reader->Drain();
  EXPECT_FALSE(Poll(reader.get(), 1, &lines));
  EXPECT_THAT(lines, ElementsAre("a"));
}

TEST_F(LineReaderTest, AMissingFileFailsTheStart) {
  const Status status = Open(0, 1, 100).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(kPath));
}

TEST_F(LineReaderTest, AFileThatIsShorterThanWhatWasReadFailsTheStart) {
  Write("0123456789\nabc\n");
  auto reader = *Open(0, 1, 100);
  Lines lines;
  ASSERT_TRUE(Poll(reader.get(), 1, &lines));
  const std::string position = Position(reader.get());
  Write("012345\n");
  auto again = *Open(0, 1, 100);
  const Status status = again->Restore(true, position);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 7 bytes and the job had read 11"));
}

TEST_F(LineReaderTest, AFileThatBecomesShorterWhileItIsReadFailsTheJob) {
  Write("0123456789\nabc\n");
  auto reader = *Open(0, 1, 4);
  ASSERT_TRUE(fs_.Truncate(kPath, 5).ok());
  const StatusOr<engine::Polled> polled = reader->Poll(10);
  EXPECT_EQ(polled.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(polled.status().message()), HasSubstr("became shorter"));
}

TEST_F(LineReaderTest, AnotherNumberOfWorkersIsRefused) {
  Write("a\n");
  const std::string position = Position(Open(0, 2, 100)->get());
  auto reader = *Open(0, 3, 100);
  const Status status = reader->Restore(true, position);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("start it with 2 workers"));
  EXPECT_EQ(reader->Restore(true, "\x80").code(), absl::StatusCode::kDataLoss);
}

TEST_F(LineReaderTest, AnEmptyFileHasNoLines) {
  Write("");
  EXPECT_THAT(ReadSplit(0, 1, 100, 10), IsEmpty());
}

}  // namespace
}  // namespace hornbeam::connectors
