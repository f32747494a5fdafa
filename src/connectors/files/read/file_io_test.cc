#include "hornbeam/io/file_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "connectors/files/compression/compress.h"
#include "connectors/files/store/file_store.h"
#include "connectors/files/store/memory_file_store.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"

namespace hornbeam {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Files of the test under "fileio://".
connectors::MemoryFileStore& Store() {
  static auto* const store = [] {
    auto* made = new connectors::MemoryFileStore;
    connectors::RegisterFileStore(
        "fileio", [made]() -> StatusOr<std::shared_ptr<connectors::FileStore>> {
          return std::shared_ptr<connectors::FileStore>(made, [](connectors::FileStore*) {});
        });
    made->Put("fileio://in/a.txt", "first");
    made->Put("fileio://in/b.txt.gz", *connectors::Compress("second", io::Compression::kGzip));
    made->Put("fileio://in/x/c.txt.zst", *connectors::Compress("third", io::Compression::kZstd));
    return made;
  }();
  return *store;
}

TEST(FileIoTest, MatchedFilesAreReadInEveryMode) {
  Store();
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> contents;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Match" >> io::MatchFiles("fileio://in/**") | "Open" >> io::ReadMatches() |
          "Read" >> Map([](const io::ReadableFile& file) {
            return absl::StrCat(file.metadata().path, ": ", *file.ReadFully());
          }) |
          "Collect" >> Collect(&contents);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(contents.values(),
                UnorderedElementsAre("fileio://in/a.txt: first", "fileio://in/b.txt.gz: second",
                                     "fileio://in/x/c.txt.zst: third"));
  });
}

TEST(FileIoTest, AToldCompressionIsTakenForGranted) {
  Store();
  Collector<std::string> sizes;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Match" >> io::MatchFiles("fileio://in/b*") |
        "Open" >> io::ReadMatches().WithCompression(io::Compression::kUncompressed) |
        "Read" >> Map([](const io::ReadableFile& file) { return file.ReadFully()->substr(0, 2); }) |
        "Collect" >> Collect(&sizes);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(sizes.values(), ElementsAre("\x1f\x8b"));
}

TEST(FileIoTest, APatternThatMatchesNothing) {
  using Empty = io::EmptyMatchTreatment;
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.CreateDirectories("in").ok());
  EXPECT_THAT(*io::FindFiles("in/*", Empty::kAllow, &fs), IsEmpty());
  EXPECT_THAT(*io::FindFiles("in/a", Empty::kAllow, &fs), IsEmpty());
  EXPECT_THAT(*io::FindFiles("in/*", Empty::kAllowIfWildcard, &fs), IsEmpty());
  for (const auto& [pattern, empty, message] :
       {std::tuple<const char*, Empty, const char*>{"in/a", Empty::kAllowIfWildcard,
                                                    "there is no file 'in/a'"},
        {"in/*", Empty::kDisallow, "no file matches 'in/*'"},
        {"out/x/*", Empty::kDisallow,
         "no file matches 'out/x/*': the directory 'out/x' does not exist"}}) {
    const Status status = io::FindFiles(pattern, empty, &fs).status();
    EXPECT_TRUE(absl::IsNotFound(status));
    EXPECT_EQ(std::string(status.message()), message);
  }
}

TEST(FileIoTest, NothingToMatchFailsTheJobWithItsName) {
  const Status status = RunInMode(
      {}, [](Pipeline& pipeline) { pipeline | "Find orders" >> io::MatchFiles("none/*.csv"); });
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Find orders'"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no file matches 'none/*.csv': the directory 'none' does not exist"));
}

TEST(FileIoTest, AFileThatIsTooLongIsNotReadAtOnce) {
  Store();
  const io::ReadableFile file({"fileio://in/a.txt", 5, 0, ""}, io::Compression::kAuto,
                              FileSystem::Posix());
  const Status status = file.ReadFully(4).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'fileio://in/a.txt': it has more than 4 bytes"));
}

}  // namespace
}  // namespace hornbeam
