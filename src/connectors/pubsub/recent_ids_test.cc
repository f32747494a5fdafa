#include "connectors/pubsub/recent_ids.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

model::KeyHash Id(int n) { return model::HashKeyBytes(absl::StrCat("id", n)); }

TEST(RecentIdsTest, KnowsWhatCameBefore) {
  RecentIds ids;
  EXPECT_TRUE(ids.Insert(Id(1), 0));
  EXPECT_TRUE(ids.Insert(Id(2), 1));
  EXPECT_FALSE(ids.Insert(Id(1), 2));
  EXPECT_EQ(ids.size(), 2u);
}

TEST(RecentIdsTest, AgesFromTheConfirmedAckAndOnlyWhilePulling) {
  RecentIds ids;
  ids.Insert(Id(1), 0);
  ids.Age(model::Minutes(60), 0);  // not confirmed: an hour is nothing
  EXPECT_FALSE(ids.Insert(Id(1), 1));

  RecentIds confirmed;
  confirmed.Insert(Id(1), 0);
  confirmed.Age(model::Minutes(2), 1);  // confirmed at 2 min of pulling
  confirmed.Age(model::Minutes(11), 1);
  EXPECT_EQ(confirmed.size(), 1u);
  confirmed.Age(model::Minutes(12), 1);
  EXPECT_EQ(confirmed.size(), 0u);
  EXPECT_TRUE(confirmed.Insert(Id(1), 1));
}

TEST(RecentIdsTest, ADuplicateLivesOnFromItsOwnAck) {
  RecentIds ids;
  ids.Insert(Id(1), 0);
  ids.Age(model::Minutes(1), 1);
  ids.Age(model::Minutes(9), 1);
  EXPECT_FALSE(ids.Insert(Id(1), 1));
  ids.Age(model::Minutes(12), 2);  // the first bucket goes, the id stays in the second
  EXPECT_FALSE(ids.Insert(Id(1), 2));
}

TEST(RecentIdsTest, BucketsAreAMinuteEach) {
  RecentIds ids;
  for (int i = 0; i < 20; ++i) {
    ids.Insert(Id(i), static_cast<uint64_t>(i));
    ids.Age(model::Minutes(i + 1), static_cast<uint64_t>(i + 1));
  }
  EXPECT_EQ(ids.buckets(), 10u);
  EXPECT_EQ(ids.size(), 10u);
}

TEST(RecentIdsTest, IsTheSameAfterDeltasAndAfterAll) {
  RecentIds live;
  RecentIds by_deltas;
  for (int i = 0; i < 100; ++i) {
    live.Insert(Id(i), static_cast<uint64_t>(i));
    if (i % 7 == 0) live.Age(model::Seconds(i * 20), static_cast<uint64_t>(i));
    if (i % 3 != 0) continue;
    std::string delta;
    live.AppendDelta(&delta);
    ByteReader in(delta);
    ASSERT_TRUE(by_deltas.Restore(&in));
  }
  EXPECT_EQ(by_deltas.size(), live.size());
  EXPECT_FALSE(live.changed());
  std::string all;
  live.AppendAll(&all);
  RecentIds by_all;
  ByteReader in(all);
  ASSERT_TRUE(by_all.Restore(&in));
  EXPECT_EQ(by_all.size(), live.size());
  EXPECT_FALSE(by_all.Insert(Id(99), 0));
  EXPECT_FALSE(by_deltas.Insert(Id(99), 0));
}

TEST(RecentIdsTest, RestoredIdsAreKeptForTheWholeTime) {
  RecentIds before;
  before.Insert(Id(1), 0);
  std::string all;
  before.AppendAll(&all);
  RecentIds after;
  ByteReader in(all);
  ASSERT_TRUE(after.Restore(&in));
  after.Age(model::Minutes(9), 0);
  EXPECT_EQ(after.size(), 1u);
  after.Age(model::Minutes(10), 0);
  EXPECT_EQ(after.size(), 0u);
}

TEST(RecentIdsTest, RefusesMalformedBytes) {
  RecentIds ids;
  ids.Insert(Id(1), 0);
  std::string all;
  ids.AppendAll(&all);
  for (size_t cut = 0; cut < all.size(); ++cut) {
    RecentIds restored;
    ByteReader in(std::string_view(all).substr(0, cut));
    EXPECT_FALSE(restored.Restore(&in)) << cut;
  }
  RecentIds restored;
  std::string huge;
  PutVarint(&huge, 0);
  PutVarint(&huge, 1);
  PutVarint(&huge, 0);
  PutVarint(&huge, UINT64_MAX);
  ByteReader in(huge);
  EXPECT_FALSE(restored.Restore(&in));
}

}  // namespace
}  // namespace hornbeam::connectors
