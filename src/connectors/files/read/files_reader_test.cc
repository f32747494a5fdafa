#include "connectors/files/read/files_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "connectors/files/compression/compress.h"
#include "connectors/files/read/text_record_reader.h"
#include "connectors/files/store/memory_file_store.h"
#include "engine/batch.h"
#include "engine/epoch/epoch_records.h"
#include "engine/job/job_context.h"

namespace hornbeam::connectors {
namespace {

using io::FileRecord;
using testing::HasSubstr;

using Log = std::vector<std::pair<bool, std::string>>;  // replaces, payload

class FilesReaderTest : public testing::Test {
 protected:
  FilesReaderTest() {
    RegisterFileStore("fr", [this]() -> StatusOr<std::shared_ptr<FileStore>> {
      return std::shared_ptr<FileStore>(&store_, [](FileStore*) {});
    });
    files_.search.pattern = "fr://*";
    files_.splitting = Splitting::kParts;
    files_.part_bytes = 20;
  }

  StatusOr<std::unique_ptr<FilesReader<FileRecord>>> Open(uint32_t split, const Log& log) {
    auto reader = std::make_unique<FilesReader<FileRecord>>(
        files_, std::make_unique<TextRecordReader>(TextSplit{}));
    engine::ReaderContext context;
    context.job = &job_;
    context.split = split;
    HB_RETURN_IF_ERROR(reader->Open(context));
    for (const auto& [replaces, payload] : log)
      HB_RETURN_IF_ERROR(reader->Restore(replaces, payload));
    return reader;
  }
  static void Mark(FilesReader<FileRecord>* reader, bool rewrite, Log* log) {
    engine::EpochRecords records;
    engine::ReaderRecords out(&records, engine::OperatorId{1}, 0);
    EXPECT_TRUE((rewrite ? reader->Rewrite(&out) : reader->OnMarker(1, &out)).ok());
    engine::RecordReader in(records.bytes());
    for (engine::RecordView record; in.Next(&record);) {
      if (record.replaces) log->clear();
      log->emplace_back(record.replaces, std::string(record.payload));
    }
  }
  // Appends what a poll gives; false at the end.
  static StatusOr<bool> Poll(FilesReader<FileRecord>* reader, size_t max,
                             std::vector<std::string>* lines) {
    HB_ASSIGN_OR_RETURN(const engine::Polled polled, reader->Poll(max));
    if (polled.state == engine::Polled::State::kFinished) return false;
    for (const FileRecord& record :
         static_cast<engine::TypedBatch<FileRecord>&>(*polled.batch).values)
      lines->push_back(record.bytes);
    return true;
  }

  MemoryFileStore store_;
  engine::JobContext job_{engine::JobOptions{}};
  FilesToRead files_;
};

TEST_F(FilesReaderTest, WhatIsNotSealedIsReadAgainAndNothingElse) {
  std::vector<std::string> expected;
  for (int file = 0; file < 5; ++file) {
    std::string content;
    for (int line = 0; line < 20; ++line) {
      expected.push_back(absl::StrCat(file, "/", line));
      absl::StrAppend(&content, expected.back(), "\n");
    }
    store_.Put(absl::StrCat("fr://", file, file == 0 ? ".gz" : ""),
               file == 0 ? *Compress(content, io::Compression::kGzip) : content);
  }
  std::sort(expected.begin(), expected.end());
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    std::vector<std::string> sealed;
    for (uint32_t split = 0; split < kFileSplits; ++split) {
      Log log;
      for (bool more = true; more;) {
        auto reader = Open(split, log);
        ASSERT_TRUE(reader.ok()) << reader.status();
        std::vector<std::string> open;
        for (uint64_t polls = rng.Below(6); more && polls > 0; --polls) {
          const StatusOr<bool> polled = Poll(reader->get(), 1 + rng.Below(4), &open);
          ASSERT_TRUE(polled.ok()) << polled.status();
          more = *polled;
          if (more && rng.OneIn(2)) continue;
          Mark(reader->get(), rng.OneIn(4), &log);
          sealed.insert(sealed.end(), open.begin(), open.end());
          open.clear();
        }
      }
    }
    std::sort(sealed.begin(), sealed.end());
    ASSERT_EQ(sealed, expected) << "seed " << seed;
  }
}

TEST_F(FilesReaderTest, AFileThatHasChangedIsNotReadOn) {
  files_.splitting = Splitting::kWholeFiles;
  files_.search.pattern = "fr://a";
  store_.Put("fr://a", "1\n2\n3\n");
  for (uint32_t split = 0; split < kFileSplits; ++split) {
    Log log;
    std::vector<std::string> lines;
    auto reader = Open(split, log);
    ASSERT_TRUE(reader.ok());
    if (!*Poll(reader->get(), 1, &lines)) continue;  // another split's
    Mark(reader->get(), false, &log);
    reader = Open(split, log);
    ASSERT_TRUE(*Poll(reader->get(), 1, &lines));
    EXPECT_THAT(lines, testing::ElementsAre("1", "2"));

    store_.Put("fr://a", "1\n2\n3\n");  // written again
    reader = Open(split, log);
    EXPECT_THAT(std::string(Poll(reader->get(), 1, &lines).status().message()),
                HasSubstr("'fr://a' has changed since the job had begun to read it"));
    store_.Delete("fr://a").IgnoreError();
    reader = Open(split, log);
    EXPECT_THAT(std::string(Poll(reader->get(), 1, &lines).status().message()),
                HasSubstr("'fr://a' is gone since"));

    for (size_t size = 0; size < log[0].second.size(); ++size) {
      const auto damaged = Open(split, {{true, log[0].second.substr(0, size)}});
      ASSERT_TRUE(absl::IsDataLoss(damaged.status())) << size;
    }
    return;
  }
  FAIL() << "no split reads the file";
}

TEST_F(FilesReaderTest, TellsWhatIsLeft) {
  store_.Put("fr://a", std::string(70, '\n'));
  int64_t bytes = 0;
  for (uint32_t split = 0; split < kFileSplits; ++split) {
    auto reader = Open(split, {});
    ASSERT_TRUE(reader.ok());
    std::vector<std::string> lines;
    if (!*Poll(reader->get(), 1, &lines)) {
      EXPECT_EQ((*reader)->GetBacklog().bytes, 0);
      continue;
    }
    bytes += (*reader)->GetBacklog().bytes;
    while (*Poll(reader->get(), 100, &lines)) continue;
    EXPECT_EQ((*reader)->GetBacklog().bytes, 0);
  }
  EXPECT_EQ(bytes, 70);
}

}  // namespace
}  // namespace hornbeam::connectors
