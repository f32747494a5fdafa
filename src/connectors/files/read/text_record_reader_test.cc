#include "connectors/files/read/text_record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "connectors/files/store/faulty_file_store.h"
#include "connectors/files/store/memory_file_store.h"

namespace hornbeam::connectors {
namespace {

using io::FileRecord;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TextRecordReaderTest : public testing::Test {
 protected:
  // Every record of the part; with `restore` a new reader takes over after each.
  std::vector<FileRecord> Read(const std::string& content, TextSplit split = {}, uint64_t begin = 0,
                               uint64_t end = UINT64_MAX, bool restore = false) {
    store_.Put("f", content);
    FilePart part{{"f", content.size(), 0, ""}, io::Compression::kUncompressed, begin, end};
    std::vector<FileRecord> records;
    std::string position;
    auto reader = std::make_unique<TextRecordReader>(split);
    EXPECT_TRUE(reader->Open(&short_, part, position).ok());
    while (true) {
      FileRecord record;
      const StatusOr<bool> more = reader->Next(&record);
      EXPECT_TRUE(more.ok()) << more.status();
      if (!more.ok() || !*more) return records;
      records.push_back(record);
      if (!restore) continue;
      position.clear();
      reader->PutPosition(&position);
      reader = std::make_unique<TextRecordReader>(split);
      EXPECT_TRUE(reader->Open(&short_, part, position).ok());
    }
  }
  std::vector<std::string> Texts(const std::string& content, TextSplit split = {}) {
    std::vector<std::string> texts;
    for (const FileRecord& record : Read(content, split)) texts.push_back(record.bytes);
    return texts;
  }
  std::vector<std::string> Places(const std::string& content, TextSplit split = {}) {
    std::vector<std::string> places;
    for (const FileRecord& record : Read(content, split))
      places.push_back(absl::StrCat(record.bytes, "@", record.line, "/", record.offset));
    return places;
  }

  MemoryFileStore store_;
  FaultyFileStore short_{&store_, 0, 7};  // short reads: a delimiter comes in pieces
};

TEST_F(TextRecordReaderTest, NewlinesOfAllKinds) {
  EXPECT_THAT(Places("a\nbb\r\nc\rd"), ElementsAre("a@1/0", "bb@2/2", "c@3/6", "d@4/8"));
  EXPECT_THAT(Places("\n\na\n"), ElementsAre("@1/0", "@2/1", "a@3/2"));
  EXPECT_THAT(Texts(""), IsEmpty());
  EXPECT_THAT(Texts("a"), ElementsAre("a"));
  EXPECT_THAT(Texts("a\r"), ElementsAre("a"));
  EXPECT_THAT(Texts("\r\n"), ElementsAre(""));
}

TEST_F(TextRecordReaderTest, ADelimiterOfOnesOwn) {
  TextSplit split;
  split.delimiter = "||";
  EXPECT_THAT(Texts("a|b||c\nd||||e|", split), ElementsAre("a|b", "c\nd", "", "e|"));
  split.delimiter = "\r\n";
  EXPECT_THAT(Places("a\nb\r\nc\r\n", split), ElementsAre("a\nb@1/0", "c@3/5"));
}

TEST_F(TextRecordReaderTest, HeadersAreLeftOut) {
  TextSplit split;
  split.skip_header_records = 2;
  EXPECT_THAT(Places("h1\nh2\na\nb\n", split), ElementsAre("a@3/6", "b@4/8"));
  EXPECT_THAT(Texts("h1\n", split), IsEmpty());
}

TEST_F(TextRecordReaderTest, QuotesHoldDelimiters) {
  TextSplit split;
  split.quote = '"';
  EXPECT_THAT(Places("a,\"b\nc\"\nd\n", split), ElementsAre("a,\"b\nc\"@1/0", "d@3/8"));
  EXPECT_THAT(Texts("\"a \"\"x\n\"\"\"\nb\n", split), ElementsAre("\"a \"\"x\n\"\"\"", "b"));
  // A quote in the middle of a field begins nothing: what follows is not swallowed.
  EXPECT_THAT(Texts("5\" pipe,1\nb\n", split), ElementsAre("5\" pipe,1", "b"));
  EXPECT_THAT(Texts("a\n\"open\nb\n", split), ElementsAre("a", "\"open\nb\n"));
}

// Whatever the parts, and whoever reads on, each record is there once.
TEST_F(TextRecordReaderTest, PartsAndRestartsLoseAndRepeatNothing) {
  Rng rng(11);
  for (int round = 0; round < 150; ++round) {
    std::string content;
    for (uint64_t n = rng.Below(25); n > 0; --n) content += std::string("ab\n\r\n\r")[rng.Below(6)];
    TextSplit split;
    if (round % 3 == 1) split.delimiter = "\n";
    const std::vector<FileRecord> whole = Read(content, split);
    for (const uint64_t step : {1, 2, 3, 7}) {
      std::vector<FileRecord> parts;
      for (uint64_t begin = 0; begin < content.size(); begin += step) {
        const uint64_t end = begin + step >= content.size() ? UINT64_MAX : begin + step;
        for (const FileRecord& record : Read(content, split, begin, end, step % 2 == 0))
          parts.push_back(record);
      }
      ASSERT_EQ(parts.size(), whole.size())
          << testing::PrintToString(content) << " in parts of " << step;
      for (size_t i = 0; i < whole.size(); ++i) {
        ASSERT_EQ(parts[i].bytes, whole[i].bytes);
        ASSERT_EQ(parts[i].offset, whole[i].offset);
      }
    }
    const std::vector<FileRecord> restored = Read(content, split, 0, UINT64_MAX, true);
    ASSERT_EQ(restored.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(restored[i].bytes, whole[i].bytes);
      ASSERT_EQ(restored[i].line, whole[i].line);
    }
  }
}

TEST_F(TextRecordReaderTest, ARecordThatIsTooLongIsAnError) {
  TextSplit split;
  split.longest_record_bytes = 100;
  store_.Put("f", "short\n" + std::string(1000, 'x'));
  TextRecordReader reader(split);
  ASSERT_TRUE(reader.Open(&store_, {{"f", 0, 0, ""}}, "").ok());
  FileRecord record;
  EXPECT_TRUE(*reader.Next(&record));
  const Status status = reader.Next(&record).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'f': the record at byte 6 is longer than 100 bytes"));
}

TEST(FileRecordTest, SaysWhereItStood) {
  const auto file = std::make_shared<const std::string>("in/a.csv");
  EXPECT_EQ((FileRecord{file, 3, 17, ""}).Place(), "'in/a.csv' line 3");
  EXPECT_EQ((FileRecord{file, 0, 17, ""}).Place(), "'in/a.csv' byte 17");
}

}  // namespace
}  // namespace hornbeam::connectors
