// Watching for new files: each once, in every mode, with Beam's watermark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "connectors/files/read/file_watch.h"
#include "connectors/files/read/watch_reader.h"
#include "connectors/files/store/faulty_file_store.h"
#include "connectors/files/store/memory_file_store.h"
#include "engine/job/job_context.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/text_io.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using connectors::FileSearch;
using connectors::FileStore;
using connectors::FileWatch;
using connectors::MemoryFileStore;
using model::ProcessingTime;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class WatchTest : public testing::Test {
 protected:
  WatchTest() { Use(&store_); }
  static void Use(FileStore* store) {
    connectors::RegisterFileStore("watch", [store]() -> StatusOr<std::shared_ptr<FileStore>> {
      return std::shared_ptr<FileStore>(store, [](FileStore*) {});
    });
  }
  // The paths that a look at this second finds.
  static std::vector<std::string> Look(FileWatch& watch, int64_t second) {
    const ProcessingTime now{second * 1'000'000};
    EXPECT_TRUE(watch.IsDue(now));
    std::vector<io::FileMetadata> files;
    const Status status = watch.Look(now, &files);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::string> paths;
    for (const io::FileMetadata& file : files) paths.push_back(file.path);
    return paths;
  }
  static FileSearch Search(io::WatchTermination termination = io::WatchTermination::Never(),
                           bool updated = false) {
    return {"watch://in/*", io::EmptyMatchTreatment::kDisallow,
            io::Watch{Seconds(10), termination, updated}};
  }
  static FileWatch New(const FileSearch& search) {
    return FileWatch(search, 0, 1, FileSystem::Posix());
  }

  MemoryFileStore store_;
};

TEST_F(WatchTest, EachFileOnceAndTheWatermarkIsTheLastLook) {
  FileWatch watch = New(Search());
  EXPECT_EQ(watch.watermark(), EventTime::Min());
  EXPECT_THAT(Look(watch, 100), IsEmpty());
  EXPECT_EQ(watch.watermark(), EventTime::FromSeconds(100));
  EXPECT_FALSE(watch.IsDue({109'999'999}));
  store_.Put("watch://in/b", "1");
  store_.Put("watch://in/a", "1");
  EXPECT_THAT(Look(watch, 110), ElementsAre("watch://in/a", "watch://in/b"));
  store_.Put("watch://in/a", "changed");
  store_.Put("watch://in/c", "1");
  EXPECT_THAT(Look(watch, 120), ElementsAre("watch://in/c"));
  EXPECT_FALSE(watch.ended());
}

TEST_F(WatchTest, UpdatedFilesAreNewAgain) {
  FileWatch watch = New(Search(io::WatchTermination::Never(), true));
  store_.Put("watch://in/a", "1");
  EXPECT_THAT(Look(watch, 100), ElementsAre("watch://in/a"));
  EXPECT_THAT(Look(watch, 110), IsEmpty());
  store_.Put("watch://in/a", "1");
  EXPECT_THAT(Look(watch, 120), ElementsAre("watch://in/a"));
}

TEST_F(WatchTest, Ends) {
  FileWatch total = New(Search(io::WatchTermination::AfterTotalOf(Seconds(20))));
  FileWatch since = New(Search(io::WatchTermination::AfterTimeSinceNewFile(Seconds(20))));
  for (FileWatch* const watch : {&total, &since}) Look(*watch, 100);
  store_.Put("watch://in/a", "1");
  for (FileWatch* const watch : {&total, &since}) Look(*watch, 110);
  for (FileWatch* const watch : {&total, &since}) Look(*watch, 120);
  EXPECT_TRUE(total.ended());
  EXPECT_FALSE(since.ended());
  Look(since, 130);
  EXPECT_TRUE(since.ended());
  EXPECT_FALSE(since.IsDue({1'000'000'000}));
}

TEST_F(WatchTest, StateOutlivesTheWatch) {
  FileWatch first = New(Search(io::WatchTermination::AfterTotalOf(Seconds(50))));
  store_.Put("watch://in/a", "1");
  Look(first, 100);
  std::string all, news;
  first.PutAll(&all);
  store_.Put("watch://in/b", "1");
  Look(first, 110);
  EXPECT_TRUE(first.has_news());
  first.PutNews(&news);
  EXPECT_FALSE(first.has_news());
  FileWatch second = New(Search(io::WatchTermination::AfterTotalOf(Seconds(50))));
  ByteReader in_all(all), in_news(news);
  ASSERT_TRUE(second.Restore(in_all) && second.Restore(in_news));
  EXPECT_EQ(second.watermark(), EventTime::FromSeconds(110));
  store_.Put("watch://in/c", "1");
  EXPECT_THAT(Look(second, 150), ElementsAre("watch://in/c"));
  EXPECT_TRUE(second.ended());
  for (size_t size = 0; size < all.size(); ++size) {
    FileWatch third = New(Search());
    ByteReader in(std::string_view(all).substr(0, size));
    EXPECT_FALSE(third.Restore(in));
  }
}

TEST_F(WatchTest, SharesAreDisjointAndWhole) {
  for (int i = 0; i < 50; ++i) store_.Put(absl::StrCat("watch://in/", i), "1");
  std::vector<std::string> found;
  for (uint32_t share = 0; share < 4; ++share) {
    FileWatch watch(Search(), share, 4, FileSystem::Posix());
    for (const std::string& path : Look(watch, 100)) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found.size(), 50u);
  EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
}

// Time is moved by a TestStream; files come with its elements, through a DoFn.
void PutFilesOver(MemoryFileStore* store, Pipeline& pipeline) {
  auto stream = TestStream<std::string>();
  for (int i = 0; i < 6; ++i)
    stream = stream.AddElements({absl::StrCat(i)}).AdvanceProcessingTime(Seconds(15));
  for (int i = 0; i < 10; ++i)
    stream = stream.AdvanceProcessingTime(Seconds(15));  // until the watches end
  pipeline | "Stream" >> stream.AdvanceWatermarkToInfinity() |
      "Put" >> Map([store](const std::string& name) {
        const std::string path = absl::StrCat("watch://in/", name);
        if (!store->contents().contains(path))
          store->Put(path, absl::StrCat("a", name, "\nb", name, "\n"));
        return name;
      });
}

TEST_F(WatchTest, MistakesAreNamed) {
  const auto message = [](const std::string& pattern, Duration interval) {
    return std::string(
        RunInMode({}, [&](Pipeline& pipeline) {
          pipeline | "Match" >> io::MatchFiles(pattern).Continuously({interval, {}, false});
        }).message());
  };
  EXPECT_THAT(
      message("in/*", Seconds(0)),
      testing::HasSubstr(
          "'Match' looks for new files every 0 microseconds; the interval must be positive"));
  EXPECT_THAT(message("in/[", Seconds(1)),
              testing::HasSubstr(
                  "'Match': the file pattern 'in/[' has a '[' at character 4 without its ']'"));
}

TEST_F(WatchTest, MatchedContinuouslyInEveryMode) {
  ForEachMode(3, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    MemoryFileStore store;
    connectors::FaultyFileStore faulty(&store, 5, mode.seed);
    Use(&faulty);
    Collector<io::FileMetadata> files;
    Collector<std::string> lines;
    const io::Watch watch{Seconds(10), io::WatchTermination::AfterTimeSinceNewFile(Seconds(30)),
                          false};
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      PutFilesOver(&store, pipeline);
      pipeline | "Match" >> io::MatchFiles("watch://in/*").Continuously(watch) |
          "Files" >> Collect(&files);
      pipeline | "Read" >> io::ReadText("watch://in/*").WatchForNewFiles(watch) |
          "Lines" >> Collect(&lines);
    });
    ASSERT_TRUE(status.ok()) << status;
    // However many were there before the watches ended: each once, and all of its lines.
    std::vector<std::string> paths;
    for (const io::FileMetadata& file : files.values()) paths.push_back(file.path);
    std::sort(paths.begin(), paths.end());
    EXPECT_EQ(std::adjacent_find(paths.begin(), paths.end()), paths.end());
    EXPECT_FALSE(paths.empty());
    std::vector<std::string> all = lines.values();
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    EXPECT_FALSE(all.empty());
    EXPECT_EQ(std::count_if(all.begin(), all.end(),
                            [](const std::string& line) { return line[0] == 'a'; }),
              std::count_if(all.begin(), all.end(),
                            [](const std::string& line) { return line[0] == 'b'; }));
    for (const auto& file : files.elements())
      EXPECT_GE(file.timestamp, EventTime::FromMicros(1'000'000));
  });
  Use(&store_);
}

}  // namespace
}  // namespace hornbeam
