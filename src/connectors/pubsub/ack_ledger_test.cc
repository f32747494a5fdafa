#include "connectors/pubsub/ack_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hornbeam::connectors {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr model::ProcessingTime kNow{1'000'000'000};

AckIds Ids(const std::vector<std::string>& ids) {
  AckIds made;
  for (const std::string& id : ids) made.Add(id);
  return made;
}
std::vector<std::string> List(const AckIds& ids) {
  std::vector<std::string> list;
  for (size_t i = 0; i < ids.size(); ++i) list.emplace_back(ids[i]);
  return list;
}

class AckLedgerTest : public testing::Test {
 protected:
  void Receive(const std::vector<std::string>& ids, model::ProcessingTime now = kNow) {
    ledger_.Add(Ids(ids), 10 * ids.size(), model::EventTime::FromSeconds(1), now);
  }
  AckLedger ledger_{model::Seconds(10)};
};

TEST_F(AckLedgerTest, AcknowledgesOnlyWhatIsSealed) {
  Receive({"a", "b", "c"});
  ledger_.Polled(2);
  ledger_.Mark(1);
  ledger_.Polled(3);
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), IsEmpty());
  EXPECT_TRUE(ledger_.Seal(1));
  const AckLedger::Acks acks = ledger_.TakeAcks(1000);
  EXPECT_THAT(List(acks.ids), ElementsAre("a", "b"));
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), IsEmpty());
  EXPECT_EQ(ledger_.confirmed(), 0u);
  ledger_.Confirm(acks.through);
  EXPECT_EQ(ledger_.confirmed(), 2u);
  EXPECT_EQ(ledger_.outstanding(), 1u);
}

TEST_F(AckLedgerTest, ASealCoversEarlierEpochs) {
  Receive({"a", "b"});
  ledger_.Polled(1);
  ledger_.Mark(1);
  ledger_.Polled(2);
  ledger_.Mark(2);
  ledger_.Mark(3);  // nothing in it
  EXPECT_TRUE(ledger_.Seal(2));
  EXPECT_FALSE(ledger_.Seal(3));
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), ElementsAre("a", "b"));
}

TEST_F(AckLedgerTest, WhatWasReturnedIsTakenAgain) {
  Receive({"a"});
  Receive({"b"});
  ledger_.Polled(2);
  ledger_.Mark(1);
  ledger_.Seal(1);
  ledger_.Confirm(ledger_.TakeAcks(5).through);
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), ElementsAre("b"));
  ledger_.Returned();
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), ElementsAre("b"));
}

TEST_F(AckLedgerTest, LimitsARequest) {
  Receive({"aaaa", "bbbb", "cccc"});
  ledger_.Polled(3);
  ledger_.Mark(1);
  ledger_.Seal(1);
  EXPECT_THAT(List(ledger_.TakeAcks(16).ids), ElementsAre("aaaa", "bbbb"));
  EXPECT_THAT(List(ledger_.TakeAcks(1).ids), ElementsAre("cccc"));
}

TEST_F(AckLedgerTest, ExtendsAtHalfOfTheLeaseWhatIsNotSealed) {
  Receive({"a", "b"});
  Receive({"c"}, kNow + model::Seconds(3));
  ledger_.Polled(1);
  ledger_.Mark(1);
  ledger_.Seal(1);
  EXPECT_EQ(ledger_.NextExtension(), kNow + model::Seconds(5));
  EXPECT_THAT(List(ledger_.TakeExtensions(kNow + model::Seconds(4))), IsEmpty());
  EXPECT_THAT(List(ledger_.TakeExtensions(kNow + model::Seconds(5))), ElementsAre("b"));
  EXPECT_THAT(List(ledger_.TakeExtensions(kNow + model::Seconds(8))), ElementsAre("c"));
  EXPECT_THAT(List(ledger_.TakeExtensions(kNow + model::Seconds(10))), ElementsAre("b"));
}

TEST_F(AckLedgerTest, ADrainGivesBackWhatIsNotPolledAndStillAcknowledgesTheRest) {
  Receive({"a", "b", "c"});
  Receive({"d"});
  ledger_.Polled(1);
  EXPECT_THAT(List(ledger_.TakeUnpolled()), ElementsAre("b", "c", "d"));
  EXPECT_THAT(List(ledger_.TakeUnpolled()), IsEmpty());
  Receive({"e"});  // came while the stream was being closed
  EXPECT_THAT(List(ledger_.TakeUnpolled()), ElementsAre("e"));
  ledger_.Mark(1);
  ledger_.Seal(1);
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), ElementsAre("a"));
}

TEST_F(AckLedgerTest, CountsWhatIsOutstanding) {
  Receive({"a", "b"});
  Receive({"c", "d", "e"});
  EXPECT_EQ(ledger_.received(), 5u);
  EXPECT_EQ(ledger_.outstanding(), 5u);
  EXPECT_EQ(ledger_.outstanding_bytes(), 50u);
  ledger_.Polled(3);
  ledger_.Mark(1);
  ledger_.Seal(1);
  ledger_.Confirm(1);
  EXPECT_EQ(ledger_.outstanding(), 4u);
  EXPECT_EQ(ledger_.outstanding_bytes(), 50u);
  ledger_.Confirm(3);
  EXPECT_EQ(ledger_.outstanding(), 2u);
  EXPECT_EQ(ledger_.outstanding_bytes(), 30u);
  Receive({"f"});
  ledger_.TakeUnpolled();
  EXPECT_EQ(ledger_.received(), 3u);
  EXPECT_EQ(ledger_.outstanding(), 0u);
}

TEST_F(AckLedgerTest, TheEndGivesBackWhatIsNotSealed) {
  Receive({"a", "b", "c"});
  ledger_.Polled(2);
  ledger_.Mark(1);
  ledger_.Seal(1);
  ledger_.Polled(3);
  ledger_.Mark(2);
  EXPECT_THAT(List(ledger_.TakeUnsealed()), ElementsAre("c"));
  EXPECT_THAT(List(ledger_.TakeAcks(1000).ids), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace hornbeam::connectors
