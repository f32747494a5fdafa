#include "engine/state/cold_store.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "gmock/gmock.h"

namespace hornbeam::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Directory() { return absl::StrCat(testing::TempDir(), "/cold_store_test_", getpid()); }

std::unique_ptr<ColdStore> Open(bool rocks) {
  if (!rocks) return std::make_unique<MemoryColdStore>();
  StatusOr<std::unique_ptr<ColdStore>> store = OpenRocksColdStore(Directory(), 8 << 20);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

class ColdStoreTest : public testing::TestWithParam<bool> {
 protected:
  void Put(std::string_view key, std::string_view value) {
    ColdBatch batch;
    batch.Add(key, value);
    ASSERT_TRUE(store_->Put(batch).ok());
  }
  std::string Get(std::string_view key) {
    std::string value;
    const StatusOr<bool> found = store_->Get(key, &value);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() && *found ? value : "(none)";
  }
  std::vector<std::string> Scan(std::string_view prefix) {
    std::vector<std::string> all;
    EXPECT_TRUE(store_->Scan(prefix, [&](std::string_view key, std::string_view value) {
      all.push_back(absl::StrCat(absl::string_view(key.data(), key.size()), "=", absl::string_view(value.data(), value.size())));
      return absl::OkStatus();
    }).ok());
    return all;
  }

  std::unique_ptr<ColdStore> store_ = Open(GetParam());
};

TEST_P(ColdStoreTest, TheLatestPutCounts) {
  ColdBatch batch;
  batch.Add("a", "1");
  batch.Add("b", "");
  batch.Add("a", "2");
  ASSERT_TRUE(store_->Put(batch).ok());
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(Get("b"), "");
  EXPECT_EQ(Get("c"), "(none)");
  Put("a", "3");
  EXPECT_EQ(Get("a"), "3");
  ASSERT_TRUE(store_->Remove("a").ok());
  ASSERT_TRUE(store_->Remove("never").ok());
  EXPECT_EQ(Get("a"), "(none)");
}

TEST_P(ColdStoreTest, ScansOnePrefixInTheOrderOfBytes) {
  for (const char* key : {"b\x7f", "b\x80", "a", "b", "c", "b\xff\xff", "b\x01"}) Put(key, "");
  EXPECT_THAT(Scan("b"), ElementsAre("b=", "b\x01=", "b\x7f=", "b\x80=", "b\xff\xff="));
  EXPECT_THAT(Scan("b\xff"), ElementsAre("b\xff\xff="));
  EXPECT_THAT(Scan("d"), IsEmpty());
}

TEST_P(ColdStoreTest, RemovesOnePrefix) {
  for (const char* key : {"a", "b", "b\xff", "b\xff\xff", "c"}) Put(key, "");
  ASSERT_TRUE(store_->RemoveAll("b").ok());
  EXPECT_THAT(Scan(""), ElementsAre("a=", "c="));
  Put("b", "new");
  EXPECT_THAT(Scan("b"), ElementsAre("b=new"));
}

TEST_P(ColdStoreTest, RemovesAPrefixOfHighestBytes) {
  for (const char* key : {"a", "\xff", "\xff\xff", "\xff\xff\x01"}) Put(key, "");
  ASSERT_TRUE(store_->RemoveAll("\xff\xff").ok());
  EXPECT_THAT(Scan(""), ElementsAre("a=", "\xff="));
}

TEST_P(ColdStoreTest, AVisitMayRemoveWhatItIsGiven) {
  for (const char* key : {"a", "b", "c"}) Put(key, "");
  EXPECT_TRUE(store_->Scan("", [&](std::string_view key, std::string_view) { return store_->Remove(std::string(key)); }).ok());
  EXPECT_THAT(Scan(""), IsEmpty());
}

TEST_P(ColdStoreTest, AnErrorOfAVisitEndsTheScan) {
  for (const char* key : {"a", "b", "c"}) Put(key, "");
  int visits = 0;
  const Status status = store_->Scan("", [&](std::string_view, std::string_view) {
    ++visits;
    return absl::AbortedError("enough");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(visits, 1);
}

INSTANTIATE_TEST_SUITE_P(Both, ColdStoreTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Rocks" : "Memory"; });

// The fake and the real one do the same, also where what was put is on disk by then.
TEST(RocksColdStoreTest, DoesAsTheFakeDoes) {
  const std::unique_ptr<ColdStore> rocks = Open(true);
  MemoryColdStore memory;
  Rng rng(7);
  const auto key = [&] { return absl::StrCat(rng.Below(4), "/", rng.Below(200)); };
  const auto all = [](ColdStore& store) {
    std::vector<std::string> entries;
    EXPECT_TRUE(store.Scan("", [&](std::string_view k, std::string_view v) {
      entries.push_back(std::string(k) + "=" + std::string(v.substr(0, 20)));
      return absl::OkStatus();
    }).ok());
    return entries;
  };
  for (int round = 0; round < 60; ++round) {
    ColdBatch batch;
    for (int i = 0; i < 100; ++i) batch.Add(key(), absl::StrCat(round, std::string(rng.Below(2000), 'x')));
    const std::string removed = key(), dropped = absl::StrCat(rng.Below(4), "/", rng.Below(10));
    for (ColdStore* store : {rocks.get(), static_cast<ColdStore*>(&memory)}) {
      ASSERT_TRUE(store->Put(batch).ok());
      ASSERT_TRUE(store->Remove(removed).ok());
      ASSERT_TRUE(store->RemoveAll(dropped).ok());
    }
    ASSERT_EQ(all(*rocks), all(memory)) << "round " << round;
  }
}

TEST(RocksColdStoreTest, BeginsEmptyAndLeavesNothing) {
  {
    const std::unique_ptr<ColdStore> store = Open(true);
    ColdBatch batch;
    batch.Add("a", "1");
    ASSERT_TRUE(store->Put(batch).ok());
    EXPECT_TRUE(std::filesystem::exists(Directory()));
  }
  EXPECT_FALSE(std::filesystem::exists(Directory()));
  std::filesystem::create_directories(Directory());
  ASSERT_EQ(std::filesystem::exists(Directory() + "/CURRENT"), false);
  std::string value;
  EXPECT_FALSE(*Open(true)->Get("a", &value));
}

TEST(RocksColdStoreTest, SaysWhereItCannotBe) {
  const StatusOr<std::unique_ptr<ColdStore>> store = OpenRocksColdStore("/dev/null/cold", 1 << 20);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), testing::HasSubstr("'/dev/null/cold'"));
}

}  // namespace
}  // namespace hornbeam::engine
