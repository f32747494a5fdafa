// What every FileStore keeps to, and what the local one does on its disk.
#include "connectors/files/store/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "connectors/files/store/faulty_file_store.h"
#include "connectors/files/store/local_file_store.h"
#include "connectors/files/store/memory_file_store.h"

namespace hornbeam::connectors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Status WriteTo(FileStore& store, const std::string& path, std::string_view content,
               IfExists if_exists = IfExists::kMustBeSame) {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, store.Create(path, if_exists));
  HB_RETURN_IF_ERROR(file->Append(content.substr(0, content.size() / 2)));
  HB_RETURN_IF_ERROR(file->Append(content.substr(content.size() / 2)));
  return file->Commit();
}

StatusOr<std::string> ReadFrom(FileStore& store, const std::string& path, uint64_t offset = 0) {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> bytes, store.OpenForRead(path, offset));
  return ReadAllBytes(*bytes, 1 << 20);
}

std::vector<std::string> Paths(FileStore& store, const std::string& pattern) {
  const StatusOr<std::vector<io::FileMetadata>> files = store.List(*FilePattern::Parse(pattern));
  EXPECT_TRUE(files.ok()) << files.status();
  std::vector<std::string> paths;
  for (const io::FileMetadata& file : *files) paths.push_back(file.path);
  return paths;
}

// Calls `test` with each kind of store and the folder to work in.
void ForEachStore(const std::function<void(FileStore&, const std::string&)>& test) {
  {
    SCOPED_TRACE("the disk");
    const std::string folder =
        absl::StrCat(testing::TempDir(), "/hornbeam_file_store_test.", ::getpid());
    std::filesystem::remove_all(folder);
    LocalFileStore store(FileSystem::Posix());
    test(store, folder);
    std::filesystem::remove_all(folder);
  }
  {
    SCOPED_TRACE("a disk in memory");
    MemoryFileSystem fs;
    LocalFileStore store(&fs);
    test(store, "f");
  }
  {
    SCOPED_TRACE("a store in memory");
    MemoryFileStore store;
    test(store, "memory://f");
  }
  {
    SCOPED_TRACE("short reads");
    MemoryFileStore store;
    FaultyFileStore faulty(&store, 0, 1);
    test(faulty, "memory://f");
  }
}

TEST(FileStoreTest, WritesAndReads) {
  ForEachStore([](FileStore& store, const std::string& folder) {
    const std::string path = folder + "/deep/er/a.txt";
    ASSERT_TRUE(WriteTo(store, path, "some content").ok());
    EXPECT_EQ(*ReadFrom(store, path), "some content");
    EXPECT_EQ(*ReadFrom(store, path, 5), "content");
    EXPECT_EQ(*ReadFrom(store, path, 12), "");
    EXPECT_EQ(*ReadFrom(store, path, 100), "");
    const StatusOr<std::string> missing = ReadFrom(store, folder + "/nothing");
    EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
    EXPECT_THAT(std::string(missing.status().message()), HasSubstr(folder + "/nothing"));
    EXPECT_TRUE(store.Delete(path).ok());
    EXPECT_TRUE(store.Delete(path).ok());
    EXPECT_FALSE(ReadFrom(store, path).ok());
  });
}

TEST(FileStoreTest, ListsWhatMatches) {
  ForEachStore([](FileStore& store, const std::string& folder) {
    for (const char* const name : {"/b.csv", "/a.csv", "/a.txt", "/x/c.csv", "/x/y/d.csv"}) {
      ASSERT_TRUE(WriteTo(store, folder + name, "12345").ok());
    }
    EXPECT_THAT(Paths(store, folder + "/*.csv"), ElementsAre(folder + "/a.csv", folder + "/b.csv"));
    EXPECT_THAT(Paths(store, folder + "/*/*.csv"), ElementsAre(folder + "/x/c.csv"));
    EXPECT_THAT(Paths(store, folder + "/**.csv"),
                ElementsAre(folder + "/a.csv", folder + "/b.csv", folder + "/x/c.csv",
                            folder + "/x/y/d.csv"));
    EXPECT_THAT(Paths(store, folder + "/a.txt"), ElementsAre(folder + "/a.txt"));
    EXPECT_THAT(Paths(store, folder + "/x"), IsEmpty());  // a directory
    EXPECT_THAT(Paths(store, folder + "/none/*"), IsEmpty());
    EXPECT_THAT(Paths(store, folder + "/none"), IsEmpty());
    const auto files = store.List(*FilePattern::Parse(folder + "/a.txt"));
    ASSERT_TRUE(files.ok());
    EXPECT_EQ((*files)[0].size_bytes, 5u);
    EXPECT_FALSE((*files)[0].etag.empty());
    // Another content has another etag.
    ASSERT_TRUE(WriteTo(store, folder + "/a.txt", "123456", IfExists::kReplace).ok());
    EXPECT_NE((*store.List(*FilePattern::Parse(folder + "/a.txt")))[0].etag, (*files)[0].etag);
  });
}

TEST(FileStoreTest, AFileIsSeenWholeOrNotAtAll) {
  ForEachStore([](FileStore& store, const std::string& folder) {
    const std::string path = folder + "/a";
    {
      const auto file = store.Create(path, IfExists::kMustBeSame);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE((*file)->Append("half").ok());
      EXPECT_FALSE(ReadFrom(store, path).ok());
      EXPECT_THAT(Paths(store, folder + "/**"), IsEmpty());
    }
    EXPECT_FALSE(ReadFrom(store, path).ok());
    EXPECT_THAT(Paths(store, folder + "/**"), IsEmpty());
    EXPECT_TRUE(WriteTo(store, path, "whole").ok());
    EXPECT_EQ(*ReadFrom(store, path), "whole");
  });
}

TEST(FileStoreTest, WhatExistsMustBeTheSame) {
  ForEachStore([](FileStore& store, const std::string& folder) {
    const std::string path = folder + "/a";
    ASSERT_TRUE(WriteTo(store, path, "one").ok());
    EXPECT_TRUE(WriteTo(store, path, "one").ok());
    const Status other = WriteTo(store, path, "two");
    EXPECT_TRUE(absl::IsAlreadyExists(other)) << other;
    EXPECT_THAT(std::string(other.message()), HasSubstr(path));
    EXPECT_FALSE(WriteTo(store, path, "").ok());
    EXPECT_EQ(*ReadFrom(store, path), "one");
    EXPECT_TRUE(WriteTo(store, path, "two", IfExists::kReplace).ok());
    EXPECT_EQ(*ReadFrom(store, path), "two");
    EXPECT_THAT(Paths(store, folder + "/**"), ElementsAre(path));
  });
}

// The power goes before any of the operations of a write: afterwards the file is whole or not
// there, and can be written again.
TEST(FileStoreTest, APowerCutLeavesNoHalfFile) {
  Rng rng(3);
  for (const FileOperation operation :
       {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSync,
        FileOperation::kRename, FileOperation::kSyncDirectory}) {
    for (uint64_t nth = 1; nth <= 3; ++nth) {
      MemoryFileSystem fs;
      LocalFileStore store(&fs);
      fs.FailNth(operation, nth, absl::AbortedError("the power is off"));
      const bool written = WriteTo(store, "d/a", "content").ok();
      fs.ClearFaults();
      fs.DropUnsynced(&rng);
      const StatusOr<std::string> found = ReadFrom(store, "d/a");
      if (written || found.ok()) {
        EXPECT_EQ(*found, "content");
      }
      EXPECT_TRUE(WriteTo(store, "d/a", "content").ok());
      fs.DropUnsynced(&rng);
      EXPECT_EQ(*ReadFrom(store, "d/a"), "content");
      EXPECT_THAT(Paths(store, "d/*"), ElementsAre("d/a"));
    }
  }
}

TEST(FileStoreTest, ADirectoryIsNoFile) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.CreateDirectories("in").ok());
  LocalFileStore store(&fs);
  const Status status = ReadFrom(store, "in").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("'in' is a directory, not a file"));
}

TEST(FileStoreTest, SchemesAreRegistered) {
  MemoryFileStore store;
  RegisterFileStore("schemetest", [&]() -> StatusOr<std::shared_ptr<FileStore>> {
    return std::shared_ptr<FileStore>(&store, [](FileStore*) {});
  });
  const auto found = FileStoreOf("schemetest://b/a.txt", FileSystem::Posix());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->get(), &store);
  const Status unknown = FileStoreOf("nowhere://b/a", FileSystem::Posix()).status();
  EXPECT_TRUE(absl::IsUnimplemented(unknown));
  EXPECT_THAT(std::string(unknown.message()),
              HasSubstr("'nowhere://b/a': there is no store for nowhere://"));
  EXPECT_TRUE(FileStoreOf("a/b", FileSystem::Posix()).ok());
}

}  // namespace
}  // namespace hornbeam::connectors
