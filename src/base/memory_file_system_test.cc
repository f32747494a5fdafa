#include "base/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace hornbeam {
namespace {

class MemoryFileSystemTest : public ::testing::Test {
 protected:
  MemoryFileSystemTest() { HB_CHECK(fs_.CreateDirectories("/d").ok()); }

  std::string Content(const std::string& path) {
    const StatusOr<std::string> content = ReadFile(fs_, path);
    return content.ok() ? *content : std::string(absl::StatusCodeToString(content.status().code()));
  }

  MemoryFileSystem fs_;
};

TEST_F(MemoryFileSystemTest, APowerCutLeavesWhatWasSynced) {
  auto file = *fs_.Create("/d/a");
  ASSERT_TRUE(file->Append("kept").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(fs_.SyncDirectory("/d").ok());
  ASSERT_TRUE(file->Append("lost").ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "kept");
  EXPECT_FALSE(file->Append("from the grave").ok());
  EXPECT_EQ(Content("/d/a"), "kept");
}

TEST_F(MemoryFileSystemTest, ANameNeedsItsDirectorySynced) {
  auto file = *fs_.Create("/d/a");
  ASSERT_TRUE(file->Append("x").ok());
  ASSERT_TRUE(file->Sync().ok());
  fs_.DropUnsynced();
  EXPECT_FALSE(fs_.Exists("/d/a"));
}

TEST_F(MemoryFileSystemTest, RemovalsAndRenamesAreUndoneUnlessSynced) {
  ASSERT_TRUE(WriteFileAtomically(fs_, "/d/a", "a").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, "/d/b", "b").ok());
  ASSERT_TRUE(fs_.Rename("/d/a", "/d/b").ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "a");
  EXPECT_EQ(Content("/d/b"), "b");
  ASSERT_TRUE(fs_.Remove("/d/a").ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "a");
  ASSERT_TRUE(fs_.Rename("/d/a", "/d/b").ok());
  ASSERT_TRUE(fs_.SyncDirectory("/d").ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "NOT_FOUND");
  EXPECT_EQ(Content("/d/b"), "a");
}

TEST_F(MemoryFileSystemTest, EmptyingAFileIsUndoneUnlessSynced) {
  ASSERT_TRUE(WriteFileAtomically(fs_, "/d/a", "old").ok());
  auto file = *fs_.Create("/d/a");
  ASSERT_TRUE(file->Append("new").ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "old");
  file = *fs_.Create("/d/a");
  ASSERT_TRUE(file->Append("new").ok());
  ASSERT_TRUE(file->Sync().ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "new");
}

TEST_F(MemoryFileSystemTest, ATornTailIsAPrefixWithZeroedSectors) {
  bool torn = false, whole = false, zeroed = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MemoryFileSystem fs;
    Rng rng(seed);
    auto file = *fs.OpenForAppend("a");
    ASSERT_TRUE(file->Append("synced").ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(fs.SyncDirectory(".").ok());
    ASSERT_TRUE(file->Append(std::string(2000, 'x')).ok());
    fs.DropUnsynced(&rng);
    const std::string content = *ReadFile(fs, "a");
    ASSERT_EQ(content.substr(0, 6), "synced");
    ASSERT_EQ(content.find_first_not_of(std::string_view("x\0", 2), 6), std::string::npos);
    torn |= content.size() < 2006;
    whole |= content.size() > 1500;
    zeroed |= content.find('\0') != std::string::npos;
  }
  EXPECT_TRUE(torn && whole && zeroed);
}

TEST_F(MemoryFileSystemTest, ArmedFaultsHitOnceInOrder) {
  auto file = *fs_.Create("/d/a");
  fs_.FailNth(FileOperation::kAppend, 2, absl::UnavailableError("second"));
  EXPECT_TRUE(file->Append("12").ok());
  EXPECT_EQ(file->Append("3456"), absl::UnavailableError("second"));
  EXPECT_EQ(Content("/d/a"), "1234") << "half of a failed append is there";
  EXPECT_FALSE(file->Append("x").ok()) << "a file that failed stays failed";
  EXPECT_TRUE((*fs_.OpenForAppend("/d/a"))->Append("x").ok());
  EXPECT_EQ(fs_.Count(FileOperation::kAppend), 3u);

  fs_.FailNth(FileOperation::kCreate, 1, absl::InternalError("no"));
  EXPECT_FALSE(fs_.Create("/d/b").ok());
  EXPECT_TRUE(fs_.Create("/d/b").ok());
  fs_.FailNth(FileOperation::kCreate, 1, absl::InternalError("no"));
  fs_.ClearFaults();
  EXPECT_TRUE(fs_.Create("/d/b").ok());
}

TEST_F(MemoryFileSystemTest, AfterAFailedSyncOnlyARewriteMakesTheTailDurable) {
  ASSERT_TRUE(WriteFileAtomically(fs_, "/d/a", "base").ok());
  fs_.FailNth(FileOperation::kSync, 1, absl::DataLossError("bad sector"));
  auto file = *fs_.OpenForAppend("/d/a");
  ASSERT_TRUE(file->Append("tail").ok());
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_EQ(Content("/d/a"), "basetail");
  file = *fs_.OpenForAppend("/d/a");
  EXPECT_TRUE(file->Sync().ok()) << "which is a lie";
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "base");

  fs_.FailNth(FileOperation::kSync, 1, absl::DataLossError("bad sector"));
  file = *fs_.OpenForAppend("/d/a");
  ASSERT_TRUE(file->Append("tail").ok());
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_TRUE(fs_.RewriteInPlace("/d/a", 4).ok());
  fs_.DropUnsynced();
  EXPECT_EQ(Content("/d/a"), "basetail");
}

TEST_F(MemoryFileSystemTest, AFullDiskTakesWhatFits) {
  fs_.SetCapacity(6);
  auto file = *fs_.Create("/d/a");
  EXPECT_TRUE(file->Append("1234").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(file->Append("5678")));
  EXPECT_EQ(Content("/d/a"), "123456");
  EXPECT_EQ(fs_.UsedBytes(), 6u);
  fs_.SetCapacity(100);
  EXPECT_TRUE((*fs_.OpenForAppend("/d/a"))->Append("78").ok());
}

TEST_F(MemoryFileSystemTest, APowerCutReleasesLocks) {
  auto held = *fs_.Lock("/d/LOCK");
  fs_.DropUnsynced();
  auto taken = *fs_.Lock("/d/LOCK");
  held.reset();
  EXPECT_FALSE(fs_.Lock("/d/LOCK").ok()) << "the old holder's end does not release the new lock";
}

TEST_F(MemoryFileSystemTest, ThreadsMayShareIt) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const std::string path = "/d/" + std::to_string(t);
      auto file = *fs_.Create(path);
      for (int i = 0; i < 100; ++i) {
        HB_CHECK(file->Append("x").ok() && file->Sync().ok() && fs_.SyncDirectory("/d").ok());
      }
    });
  }
  threads.clear();
  fs_.DropUnsynced();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(Content("/d/" + std::to_string(t)).size(), 100u);
}

}  // namespace
}  // namespace hornbeam
