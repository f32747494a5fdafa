// One suite for every FileSystem: what the contract promises, on the disk and in memory.
#include "base/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/memory_file_system.h"

namespace hornbeam {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A file system and a directory in it that the test may fill.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual FileSystem& fs() = 0;
  virtual std::string directory() const = 0;
};

class PosixDisk final : public Disk {
 public:
  PosixDisk() {
    std::string name =
        (std::filesystem::temp_directory_path() / "file_system_test.XXXXXX").string();
    HB_CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  ~PosixDisk() override { std::filesystem::remove_all(directory_); }
  FileSystem& fs() override { return *FileSystem::Posix(); }
  std::string directory() const override { return directory_; }

 private:
  std::string directory_;
};

class MemoryDisk final : public Disk {
 public:
  MemoryDisk() { HB_CHECK(fs_.CreateDirectories("/data").ok()); }
  FileSystem& fs() override { return fs_; }
  std::string directory() const override { return "/data"; }

 private:
  MemoryFileSystem fs_;
};

template <typename DiskType>
class FileSystemTest : public ::testing::Test {
 protected:
  FileSystem& fs() { return disk_.fs(); }
  std::string directory() const { return disk_.directory(); }
  std::string Path(std::string_view name) const {
    return disk_.directory() + "/" + std::string(name);
  }
  void Put(const std::string& path, std::string_view content) {
    ASSERT_TRUE(WriteFileAtomically(fs(), path, content).ok());
  }
  std::string Content(const std::string& path) {
    const StatusOr<std::string> content = ReadFile(fs(), path);
    return content.ok() ? *content : content.status().ToString();
  }

 private:
  DiskType disk_;
};

using Disks = ::testing::Types<PosixDisk, MemoryDisk>;
TYPED_TEST_SUITE(FileSystemTest, Disks);

TYPED_TEST(FileSystemTest, AppendsGrowAFile) {
  const std::string path = this->Path("a");
  auto file = *this->fs().Create(path);
  EXPECT_TRUE(file->Append("one").ok());
  EXPECT_TRUE(file->Append("").ok());
  EXPECT_TRUE(file->Append("two").ok());
  EXPECT_EQ(file->size(), 6u);
  EXPECT_EQ(this->Content(path), "onetwo") << "readers see appended bytes before any sync";
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_TRUE(file->Close().ok());
  EXPECT_FALSE(file->Append("late").ok());
  EXPECT_FALSE(file->Close().ok());

  auto again = *this->fs().OpenForAppend(path);
  EXPECT_EQ(again->size(), 6u);
  EXPECT_TRUE(again->Append("three").ok());
  EXPECT_EQ(this->Content(path), "onetwothree");
}

TYPED_TEST(FileSystemTest, CreateEmptiesAndOpenForAppendCreates) {
  this->Put(this->Path("a"), "old");
  auto file = *this->fs().Create(this->Path("a"));
  EXPECT_EQ(file->size(), 0u);
  EXPECT_EQ(this->Content(this->Path("a")), "");
  EXPECT_TRUE(this->fs().OpenForAppend(this->Path("b")).ok());
  EXPECT_TRUE(this->fs().Exists(this->Path("b")));
}

TYPED_TEST(FileSystemTest, ReadsArePositionedAndShortOnlyAtTheEnd) {
  this->Put(this->Path("a"), "0123456789");
  auto file = *this->fs().OpenForRead(this->Path("a"));
  std::string out = "junk";
  ASSERT_TRUE(file->Read(2, 3, &out).ok());
  EXPECT_EQ(out, "234");
  ASSERT_TRUE(file->Read(8, 100, &out).ok());
  EXPECT_EQ(out, "89");
  ASSERT_TRUE(file->Read(10, 1, &out).ok());
  EXPECT_EQ(out, "");
  ASSERT_TRUE(file->Read(99, 1, &out).ok());
  EXPECT_EQ(out, "");
  EXPECT_EQ(*file->Size(), 10u);
}

TYPED_TEST(FileSystemTest, TruncateCutsAndNeverGrows) {
  this->Put(this->Path("a"), "0123456789");
  EXPECT_TRUE(this->fs().Truncate(this->Path("a"), 4).ok());
  EXPECT_EQ(this->Content(this->Path("a")), "0123");
  EXPECT_TRUE(absl::IsOutOfRange(this->fs().Truncate(this->Path("a"), 5)));
  EXPECT_TRUE(absl::IsNotFound(this->fs().Truncate(this->Path("none"), 0)));
}

TYPED_TEST(FileSystemTest, RewriteInPlaceKeepsTheContent) {
  const std::string content(3 << 20, 'x');
  this->Put(this->Path("a"), content);
  EXPECT_TRUE(this->fs().RewriteInPlace(this->Path("a"), 5).ok());
  EXPECT_EQ(this->Content(this->Path("a")), content);
  EXPECT_TRUE(absl::IsNotFound(this->fs().RewriteInPlace(this->Path("none"), 0)));
}

TYPED_TEST(FileSystemTest, RenameReplaces) {
  this->Put(this->Path("a"), "new");
  this->Put(this->Path("b"), "old");
  EXPECT_TRUE(this->fs().Rename(this->Path("a"), this->Path("b")).ok());
  EXPECT_FALSE(this->fs().Exists(this->Path("a")));
  EXPECT_EQ(this->Content(this->Path("b")), "new");
  EXPECT_TRUE(absl::IsNotFound(this->fs().Rename(this->Path("a"), this->Path("b"))));
}

TYPED_TEST(FileSystemTest, RemovesFilesAndEmptyDirectories) {
  ASSERT_TRUE(this->fs().CreateDirectories(this->Path("d/e")).ok());
  this->Put(this->Path("d/e/a"), "");
  EXPECT_FALSE(this->fs().Remove(this->Path("d/e")).ok());
  EXPECT_TRUE(this->fs().Remove(this->Path("d/e/a")).ok());
  EXPECT_TRUE(absl::IsNotFound(this->fs().Remove(this->Path("d/e/a"))));
  EXPECT_TRUE(this->fs().Remove(this->Path("d/e")).ok());
  EXPECT_FALSE(this->fs().Exists(this->Path("d/e")));
}

TYPED_TEST(FileSystemTest, ListsNamesOfFilesAndDirectories) {
  ASSERT_TRUE(this->fs().CreateDirectories(this->Path("d/e/")).ok());
  ASSERT_TRUE(this->fs().CreateDirectories(this->Path("d/e")).ok());
  this->Put(this->Path("d/a"), "");
  this->Put(this->Path("d/e/deep"), "");
  EXPECT_THAT(*this->fs().List(this->Path("d")), UnorderedElementsAre("a", "e"));
  EXPECT_TRUE(absl::IsNotFound(this->fs().List(this->Path("none")).status()));
  EXPECT_TRUE(absl::IsNotFound(this->fs().SyncDirectory(this->Path("none"))));
}

TYPED_TEST(FileSystemTest, ErrorsNameThePath) {
  const std::string path = this->Path("none/a");
  for (const Status& status :
       {this->fs().Create(path).status(), this->fs().OpenForAppend(path).status(),
        this->fs().OpenForRead(path).status(), this->fs().Lock(path).status(),
        ReadFile(this->fs(), path).status(), WriteFileAtomically(this->fs(), path, "x")}) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
  this->Put(this->Path("file"), "");
  EXPECT_FALSE(this->fs().CreateDirectories(this->Path("file/below")).ok());
}

TYPED_TEST(FileSystemTest, ALockHasOneHolder) {
  const std::string path = this->Path("LOCK");
  auto lock = this->fs().Lock(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  const Status second = this->fs().Lock(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(path));
  lock->reset();
  EXPECT_TRUE(this->fs().Lock(path).ok());
}

TYPED_TEST(FileSystemTest, WriteFileAtomicallyReplacesAndLeavesNothingBeside) {
  this->Put(this->Path("a"), "old");
  this->Put(this->Path("a"), "new");
  EXPECT_EQ(this->Content(this->Path("a")), "new");
  EXPECT_THAT(*this->fs().List(this->directory()), UnorderedElementsAre("a"));
}

}  // namespace
}  // namespace hornbeam
