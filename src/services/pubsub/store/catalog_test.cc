#include "services/pubsub/store/catalog.h"

#include "base/memory_file_system.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

Catalog Example() {
  Catalog catalog;
  catalog.next_uid = 9;
  catalog.message_id_ceiling = 1'000'000'007;
  catalog.topics[1] = {false, "topic"};
  catalog.topics[3] = {true, std::string("\0x", 2)};
  catalog.subscriptions[2] = {0xdeadbeef, 3, 77, "subscription"};
  return catalog;
}

TEST(CatalogTest, ComesBackAsItWas) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.CreateDirectories("d").ok());
  ASSERT_TRUE(StoreCatalog(&fs, "d/CATALOG", Example()).ok());
  fs.DropUnsynced();
  const StatusOr<Catalog> loaded = LoadCatalog(&fs, "d/CATALOG");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(EncodeCatalog(*loaded), EncodeCatalog(Example()));
  EXPECT_EQ(loaded->subscriptions.at(2).start, 77u);
  EXPECT_TRUE(loaded->topics.at(3).deleted);
}

TEST(CatalogTest, MissingIsEmpty) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.CreateDirectories("d").ok());
  const StatusOr<Catalog> loaded = LoadCatalog(&fs, "d/CATALOG");
  ASSERT_TRUE(loaded.ok());
  EXPECT_TRUE(loaded->topics.empty());
}

TEST(CatalogTest, DamageNamesTheFile) {
  const std::string good = EncodeCatalog(Example());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_EQ(DecodeCatalog(bad).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_FALSE(DecodeCatalog(good.substr(0, i)).ok()) << i;
  }
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.CreateDirectories("d").ok());
  ASSERT_TRUE(StoreCatalog(&fs, "d/CATALOG", Example()).ok());
  fs.Overwrite("d/CATALOG", 20, "?");
  const Status status = LoadCatalog(&fs, "d/CATALOG").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(std::string(status.message()).find("d/CATALOG"), std::string::npos) << status;
}

}  // namespace
}  // namespace hornbeam::services::pubsub
