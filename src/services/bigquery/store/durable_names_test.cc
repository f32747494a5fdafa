#include "services/bigquery/store/durable_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/memory_file_system.h"

namespace hornbeam::services::bigquery {
namespace {

// The files are on the machine's disk; the folder's syncs go to memory, which counts them.
class DurableNamesTest : public testing::Test {
 protected:
  DurableNamesTest() {
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(fs_.CreateDirectories(folder_).ok());
    syncs_before_ = fs_.Count(FileOperation::kSyncDirectory);
  }
  ~DurableNamesTest() override { std::filesystem::remove_all(folder_); }

  uint64_t syncs() const { return fs_.Count(FileOperation::kSyncDirectory) - syncs_before_; }
  void Write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::trunc) << content;
  }

  const std::string folder_ =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string file_ = folder_ + "/file";
  const std::string log_ = folder_ + "/file.wal";
  MemoryFileSystem fs_;
  uint64_t syncs_before_ = 0;
  DurableNames names_{{file_, log_}, &fs_};
};

TEST_F(DurableNamesTest, SyncsTheFolderOnceForANewFile) {
  Write(file_, "one");
  EXPECT_TRUE(names_.Sync().ok());
  EXPECT_EQ(syncs(), 1);
  std::ofstream(file_, std::ios::app) << "two";
  EXPECT_TRUE(names_.Sync().ok());
  EXPECT_EQ(syncs(), 1);
}

TEST_F(DurableNamesTest, ALogThatIsMadeAnewIsNews) {
  Write(file_, "one");
  Write(log_, "a long log");
  EXPECT_TRUE(names_.Sync().ok());
  std::filesystem::remove(log_);
  EXPECT_TRUE(names_.Sync().ok());
  Write(log_, "log");
  EXPECT_TRUE(names_.Sync().ok());
  EXPECT_GE(syncs(), 2);
  const uint64_t before = syncs();
  // Between two calls: gone, and there again, perhaps with the number it had.
  std::filesystem::remove(log_);
  Write(log_, "l");
  EXPECT_TRUE(names_.Sync().ok());
  EXPECT_EQ(syncs(), before + 1);
}

TEST_F(DurableNamesTest, AfterAnErrorItTriesAgain) {
  Write(file_, "one");
  fs_.FailNth(FileOperation::kSyncDirectory, 1, absl::DataLossError("no"));
  EXPECT_FALSE(names_.Sync().ok());
  EXPECT_TRUE(names_.Sync().ok());
  EXPECT_EQ(syncs(), 2);
}

TEST_F(DurableNamesTest, WithoutFilesThereIsNothingToSync) {
  DurableNames none({}, &fs_);
  EXPECT_TRUE(none.Sync().ok());
  EXPECT_EQ(syncs(), 0);
}

}  // namespace
}  // namespace hornbeam::services::bigquery
