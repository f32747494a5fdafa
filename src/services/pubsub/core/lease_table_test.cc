#include "services/pubsub/core/lease_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hornbeam::services::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000;

std::vector<Seq> Claim(LeaseTable* table, size_t max, int64_t deadline_us, HolderId holder = 0) {
  std::vector<LeaseTable::Claimed> claimed;
  table->Claim(max, holder, deadline_us, &claimed);
  std::vector<Seq> seqs;
  for (const LeaseTable::Claimed& c : claimed) seqs.push_back(c.seq);
  return seqs;
}

TEST(LeaseTableTest, NewMessagesComeInOrderAndOnce) {
  LeaseTable table({}, 5, 0);
  EXPECT_EQ(table.available(), 5u);
  EXPECT_THAT(Claim(&table, 3, 10 * kSecond), ElementsAre(0, 1, 2));
  EXPECT_THAT(Claim(&table, 3, 10 * kSecond), ElementsAre(3, 4));
  EXPECT_THAT(Claim(&table, 3, 10 * kSecond), IsEmpty());
  table.ExtendTo(6);
  EXPECT_THAT(Claim(&table, 3, 10 * kSecond), ElementsAre(5));
  EXPECT_EQ(table.unacked(), 6u);
}

TEST(LeaseTableTest, AnExpiredLeaseComesBackWithAnotherAttempt) {
  LeaseTable table({}, 2, 0);
  std::vector<LeaseTable::Claimed> first;
  table.Claim(2, 0, 10 * kSecond, &first);
  EXPECT_EQ(table.Ack(0, first[0].attempt, false), AckOutcome::kAcked);
  EXPECT_EQ(table.NextExpiry(), 10 * kSecond);
  table.Expire(10 * kSecond - 1);
  EXPECT_EQ(table.available(), 0u);
  table.Expire(10 * kSecond);
  EXPECT_EQ(table.available(), 1u);
  std::vector<LeaseTable::Claimed> second;
  table.Claim(9, 0, 20 * kSecond, &second);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].seq, 1u);
  EXPECT_NE(second[0].attempt, first[1].attempt);
}

TEST(LeaseTableTest, LateAcksCountUnlessStrict) {
  for (const bool strict : {false, true}) {
    LeaseTable table({}, 1, 0);
    std::vector<LeaseTable::Claimed> first;
    table.Claim(1, 0, 10 * kSecond, &first);
    table.Expire(11 * kSecond);
    EXPECT_EQ(table.Ack(0, first[0].attempt, strict),
              strict ? AckOutcome::kNotLeased : AckOutcome::kAcked);
    EXPECT_EQ(table.unacked(), strict ? 1u : 0u);
    EXPECT_EQ(table.available(), strict ? 1u : 0u);
    EXPECT_THAT(Claim(&table, 1, 20 * kSecond).size(), strict ? 1u : 0u);
  }
}

TEST(LeaseTableTest, StrictRefusesTheAckOfAnEarlierDelivery) {
  LeaseTable table({}, 1, 0);
  std::vector<LeaseTable::Claimed> claims;
  table.Claim(1, 0, 10 * kSecond, &claims);
  table.Expire(10 * kSecond);
  table.Claim(1, 0, 20 * kSecond, &claims);
  EXPECT_EQ(table.Ack(0, claims[0].attempt, true), AckOutcome::kNotLeased);
  EXPECT_FALSE(table.ExtendLease(0, claims[0].attempt, 60 * kSecond));
  EXPECT_FALSE(table.Nack(0, claims[0].attempt));
  EXPECT_EQ(table.Ack(0, claims[1].attempt, true), AckOutcome::kAcked);
  EXPECT_EQ(table.Ack(0, claims[1].attempt, true), AckOutcome::kAlreadyAcked);
  EXPECT_EQ(table.Ack(1, 1, true), AckOutcome::kUnknown);
}

TEST(LeaseTableTest, ExtendMovesTheDeadlineBothWays) {
  LeaseTable table({}, 2, 0);
  std::vector<LeaseTable::Claimed> claims;
  table.Claim(2, 0, 10 * kSecond, &claims);
  EXPECT_TRUE(table.ExtendLease(0, claims[0].attempt, 30 * kSecond));
  EXPECT_TRUE(table.ExtendLease(1, claims[1].attempt, 5 * kSecond));
  table.Expire(5 * kSecond);
  EXPECT_THAT(Claim(&table, 9, 6 * kSecond), ElementsAre(1));
  table.Expire(29 * kSecond);
  EXPECT_THAT(Claim(&table, 9, 60 * kSecond), ElementsAre(1));
  table.Expire(30 * kSecond);
  EXPECT_THAT(Claim(&table, 9, 60 * kSecond), ElementsAre(0));
}

TEST(LeaseTableTest, NackGivesBackAtOnceBeforeNewMessages) {
  LeaseTable table({}, 10, 0);
  std::vector<LeaseTable::Claimed> claims;
  table.Claim(4, 0, 10 * kSecond, &claims);
  EXPECT_TRUE(table.Nack(2, claims[2].attempt));
  EXPECT_THAT(Claim(&table, 2, 10 * kSecond), ElementsAre(2, 4));
}

TEST(LeaseTableTest, UnclaimRestoresOrderAndAttempts) {
  LeaseTable table({}, 10, 0);
  std::vector<LeaseTable::Claimed> claims;
  table.Claim(6, 0, 10 * kSecond, &claims);
  table.Unclaim(claims.data() + 2, 4);
  std::vector<LeaseTable::Claimed> again;
  table.Claim(6, 0, 10 * kSecond, &again);
  ASSERT_EQ(again.size(), 6u);
  EXPECT_EQ(again[0].seq, 2u);
  EXPECT_EQ(again[0].attempt, claims[2].attempt);
  EXPECT_EQ(again[5].seq, 7u);
}

TEST(LeaseTableTest, HoldersCountWhatTheyHold) {
  LeaseTable table({}, 10, 0);
  const HolderId holder = *table.AddHolder();
  std::vector<LeaseTable::Claimed> claims;
  table.Claim(3, holder, 10 * kSecond, &claims);
  for (const LeaseTable::Claimed& c : claims) table.SetSize(c, 100);
  EXPECT_EQ(table.outstanding(holder).messages, 3u);
  EXPECT_EQ(table.outstanding(holder).bytes, 300u);
  table.Ack(0, claims[0].attempt, false);
  table.Nack(1, claims[1].attempt);
  EXPECT_EQ(table.outstanding(holder).messages, 1u);
  EXPECT_EQ(table.outstanding(holder).bytes, 100u);
  table.RemoveHolder(holder);
  EXPECT_NE(*table.AddHolder(), holder) << "its last lease still runs";
  table.Expire(10 * kSecond);
  EXPECT_EQ(*table.AddHolder(), holder);
}

TEST(LeaseTableTest, StartsFromWhatWasAcked) {
  LeaseTable table({100, {{102, 104}, {1000, 3000}}}, 4000, 0);
  EXPECT_EQ(table.unacked(), 4000u - 100 - 2 - 2000);
  EXPECT_FALSE(table.has_new_acks());
  const std::vector<Seq> seqs = Claim(&table, 5000, kSecond);
  EXPECT_EQ(seqs.size(), table.unacked());
  EXPECT_EQ(seqs[0], 100u);
  EXPECT_EQ(seqs[1], 101u);
  EXPECT_EQ(seqs[2], 104u);
  EXPECT_THAT(table.FullAckState().ranges, ElementsAre(SeqRange{102, 104}, SeqRange{1000, 3000}));
}

TEST(LeaseTableTest, AnAckFromBeforeTheRestartCounts) {
  LeaseTable table({}, 10, 0);
  EXPECT_EQ(table.Ack(3, 77, false), AckOutcome::kAcked);
  EXPECT_THAT(Claim(&table, 9, kSecond), ElementsAre(0, 1, 2, 4, 5, 6, 7, 8, 9));
}

// Random operations against a map from seq to state that does everything the obvious way.
TEST(LeaseTableTest, AgreesWithANaiveTable) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    struct Naive {
      bool acked = false;
      uint16_t attempt = 0;
      int64_t deadline = 0;  // 0: not leased
    };
    std::map<Seq, Naive> naive;
    Seq end = 0;
    int64_t now = 0;
    LeaseTable table({}, 0, 0);
    AckState on_disk;
    for (int step = 0; step < 1000; ++step) {
      switch (rng.Below(7)) {
        case 0: {
          const Seq more = rng.Below(300);
          for (Seq i = 0; i < more; ++i) naive[end + i];
          table.ExtendTo(end += more);
          break;
        }
        case 1: {
          const int64_t deadline = now + static_cast<int64_t>(1 + rng.Below(20)) * kSecond;
          const size_t max = rng.Below(200);
          const size_t available = table.available();
          std::vector<LeaseTable::Claimed> claims;
          table.Claim(max, 0, deadline, &claims);
          ASSERT_EQ(claims.size(), std::min(max, available));
          for (const LeaseTable::Claimed& c : claims) {
            Naive& n = naive[c.seq];
            ASSERT_FALSE(n.acked);
            ASSERT_EQ(n.deadline, 0);
            n.attempt = c.attempt;
            n.deadline = deadline;
          }
          break;
        }
        case 2:
        case 3: {
          const bool strict = rng.OneIn(3);
          const Seq base = rng.Below(end + 1);
          for (Seq seq = base; seq < std::min(end, base + rng.Below(400)); ++seq) {
            Naive& n = naive[seq];
            if (n.attempt == 0) continue;
            const AckOutcome outcome = table.Ack(seq, n.attempt, strict);
            if (n.acked) {
              ASSERT_EQ(outcome, AckOutcome::kAlreadyAcked);
            } else if (strict && n.deadline == 0) {
              ASSERT_EQ(outcome, AckOutcome::kNotLeased);
            } else {
              ASSERT_EQ(outcome, AckOutcome::kAcked);
              n.acked = true;
              n.deadline = 0;
            }
          }
          break;
        }
        case 4: {
          const Seq seq = rng.Below(end + 1);
          if (!naive.contains(seq) || naive[seq].attempt == 0) break;
          Naive& n = naive[seq];
          const bool leased = n.deadline != 0;
          if (rng.OneIn(2)) {
            ASSERT_EQ(table.Nack(seq, n.attempt), leased);
            n.deadline = 0;
          } else {
            const int64_t deadline = now + static_cast<int64_t>(1 + rng.Below(20)) * kSecond;
            ASSERT_EQ(table.ExtendLease(seq, n.attempt, deadline), leased);
            if (leased) n.deadline = deadline;
          }
          break;
        }
        case 5: {
          now += static_cast<int64_t>(rng.Below(8)) * kSecond;
          table.Expire(now);
          for (auto& [seq, n] : naive) {
            if (n.deadline != 0 && n.deadline <= now) n.deadline = 0;
          }
          break;
        }
        default: {
          const AckState delta = table.TakeNewAcks();
          on_disk.floor = std::max(on_disk.floor, delta.floor);
          on_disk.ranges.insert(on_disk.ranges.end(), delta.ranges.begin(), delta.ranges.end());
          on_disk.Normalise();
          const AckState full = table.FullAckState();
          ASSERT_EQ(on_disk.floor, full.floor);
          ASSERT_EQ(on_disk.ranges, full.ranges);
        }
      }
      uint64_t unacked = 0;
      uint64_t available = 0;
      uint64_t held = 0;
      for (const auto& [seq, n] : naive) {
        unacked += !n.acked;
        available += !n.acked && n.deadline == 0;
        held += n.deadline != 0;
      }
      ASSERT_EQ(table.unacked(), unacked);
      ASSERT_EQ(table.available(), available);
      ASSERT_EQ(table.outstanding(0).messages, held);
    }
  }
}

}  // namespace
}  // namespace hornbeam::services::pubsub
