#include "connectors/pubsub/redelivery_hold.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace hornbeam::connectors {
namespace {

class RedeliveryHoldTest : public testing::Test {
 protected:
  RedeliveryHoldTest() { hold_.Begin(model::Seconds(5), Now()); }
  model::ProcessingTime Now() { return {clock_.NowMicros()}; }
  // `seconds` pass, and it is looked at.
  bool Look(int64_t seconds, bool possible, uint64_t received = 0, uint64_t taken = 0) {
    clock_.AdvanceMicros(model::Seconds(seconds).us);
    return hold_.Look(Now(), possible, received, taken);
  }

  ManualClock clock_{1'700'000'000'000'000};
  RedeliveryHold hold_;
};

TEST_F(RedeliveryHoldTest, EndsOnceWhenTheTimeIsOver) {
  EXPECT_FALSE(Look(0, true));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Look(1, true));
  EXPECT_TRUE(hold_.held());
  EXPECT_TRUE(Look(1, true));
  EXPECT_FALSE(hold_.held());
  EXPECT_FALSE(Look(1, true));
}

TEST_F(RedeliveryHoldTest, DoesNotHoldBeforeItBegins) {
  RedeliveryHold none;
  EXPECT_FALSE(none.held());
  EXPECT_FALSE(none.Look(Now(), true, 0, 0));
}

TEST_F(RedeliveryHoldTest, TimeInWhichNothingCanComeDoesNotCount) {
  EXPECT_FALSE(Look(0, true));
  EXPECT_FALSE(Look(2, true));
  EXPECT_FALSE(Look(2, false));  // it may have ended at any moment of the step
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Look(2, false));
  EXPECT_FALSE(Look(2, true));
  EXPECT_FALSE(Look(2, true));
  EXPECT_TRUE(Look(1, true));
}

TEST_F(RedeliveryHoldTest, ALongTimeWithoutALookCountsForLittle) {
  EXPECT_FALSE(Look(0, true));
  EXPECT_FALSE(Look(3600, true));
  EXPECT_FALSE(Look(3600, true));
  EXPECT_TRUE(Look(1, true));
}

TEST_F(RedeliveryHoldTest, WaitsForWhatWasReceivedByTheEndAndForNothingLater) {
  EXPECT_FALSE(Look(0, true));
  EXPECT_FALSE(Look(2, true, 10, 0));
  EXPECT_FALSE(Look(2, true, 20, 5));
  EXPECT_FALSE(Look(1, true, 30, 10));  // the time is over
  EXPECT_FALSE(Look(1, true, 1000, 29));
  EXPECT_TRUE(Look(0, false, 2000, 30));
}

TEST_F(RedeliveryHoldTest, AClockThatGoesBackCountsForNothing) {
  EXPECT_FALSE(Look(0, true));
  EXPECT_FALSE(Look(-10, true));
  EXPECT_FALSE(Look(2, true));
  EXPECT_FALSE(Look(2, true));
  EXPECT_TRUE(Look(1, true));
}

}  // namespace
}  // namespace hornbeam::connectors
