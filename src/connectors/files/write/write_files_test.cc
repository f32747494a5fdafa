#include "hornbeam/io/write_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/memory_file_system.h"
#include "connectors/files/compression/decompress.h"
#include "connectors/files/store/faulty_file_store.h"
#include "connectors/files/store/file_store.h"
#include "connectors/files/store/local_file_store.h"
#include "connectors/files/store/memory_file_store.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using connectors::FaultyFileStore;
using connectors::FileStore;
using connectors::MemoryFileStore;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// A store under the scheme, for one test at a time.
class ScopedStore {
 public:
  ScopedStore(const std::string& scheme, FileStore* store) {
    connectors::RegisterFileStore(scheme, [store]() -> StatusOr<std::shared_ptr<FileStore>> {
      return std::shared_ptr<FileStore>(store, [](FileStore*) {});
    });
  }
};

// Each file's lines in order, joined.
std::map<std::string, std::string> Files(const MemoryFileStore& store) {
  std::map<std::string, std::string> files;
  for (const auto& [path, content] : store.contents()) {
    std::vector<std::string> lines;
    std::istringstream in(content);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    files[path.substr(path.find("://") + 3)] = absl::StrJoin(lines, " ");
  }
  return files;
}

TestStream<std::string> SomeLines() {
  return TestStream<std::string>()
      .AdvanceWatermarkTo(At(0))
      .AddTimestamped({{"a", At(1)}, {"b", At(2)}, {"c", At(12)}, {"d", At(3)}})
      .AdvanceWatermarkTo(At(10))
      .AddTimestamped({{"late", At(4)}})
      .AdvanceWatermarkTo(At(30))
      .AddTimestamped({{"e", At(31)}, {"later", At(5)}})
      .AdvanceWatermarkToInfinity();
}

WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(60)); }

// "W-P-S" in seconds.
std::string ShortName(const std::string& output, const io::FileNameContext& file) {
  return absl::StrCat(output, file.window.start.us / 1'000'000, "-", file.pane.index, "-",
                      file.shard);
}

TEST(WriteFilesTest, AFileForEachPaneInEveryMode) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    MemoryFileStore store;
    ScopedStore scoped("panes", &store);
    Collector<io::FileResult> results;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto written = pipeline | "Lines" >> SomeLines() | "Window" >> Tens() |
                           "Write" >> io::WriteFiles<std::string>("panes://out/", io::TextFormat())
                                          .WithNaming([](const io::FileNameContext& file) {
                                            return ShortName("panes://out/", file);
                                          });
      written.files | "Results" >> Collect(&results);
    });
    ASSERT_TRUE(status.ok()) << status;
    const std::map<std::string, std::string> expected = {{"out/0-0-0", "a b d"},
                                                         {"out/0-1-0", "late"},
                                                         {"out/0-2-0", "later"},
                                                         {"out/10-0-0", "c"},
                                                         {"out/30-0-0", "e"}};
    EXPECT_EQ(Files(store), expected);
    std::map<std::string, std::string> said;
    for (const io::FileResult& file : results.values()) {
      EXPECT_EQ(file.window.end, file.window.start + Seconds(10));
      EXPECT_EQ(file.shards, 1);
      EXPECT_EQ(static_cast<size_t>(file.size_bytes), store.contents().at(file.path).size());
      said[file.path.substr(8)] = absl::StrCat(file.records, " of pane ", file.pane.index);
    }
    EXPECT_EQ(results.values().size(), expected.size());  // none twice
    EXPECT_EQ(said["out/0-0-0"], "3 of pane 0");
    EXPECT_EQ(said["out/0-2-0"], "1 of pane 2");
  });
}

std::vector<std::string> Numbers(int n) {
  std::vector<std::string> numbers;
  for (int i = 0; i < n; ++i) numbers.push_back(absl::StrCat(i));
  return numbers;
}

// Which lines are in which shard does not depend on how the job runs, so crashes and workers change
// nothing in any file.
TEST(WriteFilesTest, ShardsAreTheSameInEveryMode) {
  std::map<std::string, std::string> first;
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    MemoryFileStore store;
    ScopedStore scoped("shards", &store);
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Numbers" >> Create<std::string>(Numbers(60)) |
          "Write" >> io::WriteFiles<std::string>("shards://out/n", io::TextFormat()).WithShards(3);
    });
    ASSERT_TRUE(status.ok()) << status;
    const std::map<std::string, std::string> files = Files(store);
    if (first.empty()) first = files;
    EXPECT_EQ(files, first);
    ASSERT_EQ(files.size(), 3u);
    EXPECT_TRUE(files.contains("out/n-00001-of-00003.txt"));
    size_t lines = 0;
    for (const auto& [path, content] : files)
      lines += static_cast<size_t>(std::count(content.begin(), content.end(), ' ')) + 1;
    EXPECT_EQ(lines, 60u);
  });
}

TEST(WriteFilesTest, AFaultyStoreInEveryMode) {
  std::map<std::string, std::string> expected;
  int64_t faults = 0;
  ForEachMode(4, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    MemoryFileStore store;
    FaultyFileStore faulty(&store, expected.empty() ? 0 : 3, mode.seed);
    ScopedStore scoped("faulty", &faulty);
    Collector<io::FileResult> results;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto written =
          pipeline | "Lines" >> SomeLines() | "Window" >> Tens() |
          "Write" >> io::WriteFiles<std::string>("faulty://out/x", io::TextFormat()).WithShards(2);
      written.files | "Results" >> Collect(&results);
    });
    ASSERT_TRUE(status.ok()) << status;
    if (expected.empty()) expected = Files(store);
    EXPECT_EQ(Files(store), expected);
    EXPECT_EQ(results.values().size(), expected.size());
    faults += faulty.faults();
  });
  EXPECT_GT(faults, 20);
}

// The local store on a disk that forgets what was not synced.
TEST(WriteFilesTest, PowerCutsOnTheLocalDisk) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    FileSystem* fs = nullptr;
    std::map<std::string, std::string> contents;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      fs = pipeline.options().fs;
      pipeline | "Lines" >> SomeLines() | "Window" >> Tens() |
          "Write" >> io::WriteFiles<std::string>("out/", io::TextFormat())
                         .WithNaming([](const io::FileNameContext& file) {
                           return ShortName("out/", file);
                         });
      pipeline.AddCheck([&]() -> Status {  // while the disk is there
        HB_ASSIGN_OR_RETURN(const auto names, fs->List("out"));
        for (const std::string& name : names) {
          HB_ASSIGN_OR_RETURN(std::string content, ReadFile(*fs, "out/" + name));
          std::sort(content.begin(), content.end());
          contents[name] = std::string(content.substr(content.find_last_of('\n') + 1));
        }
        return absl::OkStatus();
      });
    });
    ASSERT_TRUE(status.ok()) << status;
    // What a crash has left half written has been taken up again: no other names.
    const std::map<std::string, std::string> expected = {
        {"0-0-0", "abd"}, {"0-1-0", "aelt"}, {"0-2-0", "aelrt"}, {"10-0-0", "c"}, {"30-0-0", "e"}};
    EXPECT_EQ(contents, expected);
  });
}

TEST(WriteFilesTest, CompressedFilesCanBeReadAgain) {
  for (const auto& [compression, name] :
       {std::pair<io::Compression, const char*>{io::Compression::kGzip,
                                                "z://out-00000-of-00001.txt.gz"},
        {io::Compression::kZstd, "z://out-00000-of-00001.txt.zst"}}) {
    MemoryFileStore store;
    ScopedStore scoped("z", &store);
    const Status status = RunInMode({}, [&, compression = compression](Pipeline& pipeline) {
      pipeline | "Numbers" >> Create<std::string>(Numbers(100)) |
          "Write" >>
              io::WriteFiles<std::string>("z://out", io::TextFormat()).WithCompression(compression);
    });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(store.contents().contains(name));
    const auto content = connectors::Decompress(*store.OpenForRead(name, 0), compression, name);
    EXPECT_EQ(connectors::ReadAllBytes(*content, 1000)->size(), 290u);
  }
}

TEST(WriteFilesTest, HeaderAndFooterAreInEachFile) {
  MemoryFileStore store;
  ScopedStore scoped("hf", &store);
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Numbers" >> Create<std::string>(Numbers(2)) |
        "Write" >> io::WriteFiles<std::string>("hf://o", io::TextFormat({"\r\n", "head", "foot"}));
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(store.contents()["hf://o-00000-of-00001.txt"], "head\r\n0\r\n1\r\nfoot\r\n");
}

TEST(WriteFilesTest, WhatIsNoLineIsAFailure) {
  MemoryFileStore store;
  ScopedStore scoped("bad", &store);
  Collector<FailedElement> failures;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto written = pipeline |
                         "Lines" >> Create<std::string>(std::vector<std::string>{"a", "b\nc"}) |
                         "Write" >> io::WriteFiles<std::string>("bad://o", io::TextFormat());
    written.failures | "Failures" >> Collect(&failures);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(store.contents()["bad://o-00000-of-00001.txt"], "a\n");
  ASSERT_EQ(failures.values().size(), 1u);
  EXPECT_THAT(failures.values()[0].error,
              HasSubstr("a line must not have its delimiter '\\n' in it"));
  EXPECT_EQ(failures.values()[0].element, "b\nc");
}

TEST(WriteFilesTest, AFileOfAnotherIsNotWrittenOver) {
  for (const bool replace : {false, true}) {
    MemoryFileStore store;
    ScopedStore scoped("other", &store);
    store.Put("other://o-00000-of-00001.txt", "someone's");
    const Status status = RunInMode({}, [&](Pipeline& pipeline) {
      const auto write = io::WriteFiles<std::string>("other://o", io::TextFormat());
      pipeline | "Lines" >> Create<std::string>(std::vector<std::string>{"a"}) |
          "Write" >> (replace ? write.ReplaceExisting() : write);
    });
    EXPECT_EQ(status.ok(), replace) << status;
    EXPECT_EQ(store.contents()["other://o-00000-of-00001.txt"], replace ? "a\n" : "someone's");
    if (!replace) {
      EXPECT_THAT(
          std::string(status.message()),
          HasSubstr("sink 'Write': 'other://o-00000-of-00001.txt' exists with other content"));
    }
  }
}

TEST(WriteFilesTest, Mistakes) {
  const auto run = [](const io::WriteFiles<std::string>& write) {
    return std::string(RunInMode({}, [&](Pipeline& pipeline) {
                         pipeline | "Lines" >> Create<std::string>(std::vector<std::string>{"a"}) |
                             "Write" >> write;
                       }).message());
  };
  const io::WriteFiles<std::string> write("o", io::TextFormat());
  EXPECT_THAT(run(write.WithShards(0)), HasSubstr("'Write': cannot write 0 shards"));
  EXPECT_THAT(run(write.WithShards(2).WithShardTemplate("-P")),
              HasSubstr("'Write': writes 2 shards and gives them all one name"));
  EXPECT_THAT(run(write.WithCompression(io::Compression::kAuto)), HasSubstr("with 'auto'"));
  EXPECT_THAT(run(io::WriteFiles<std::string>("nowhere://o", io::TextFormat())),
              HasSubstr("there is no store for nowhere://"));
}

}  // namespace
}  // namespace hornbeam
