#include "model/trigger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hornbeam::model {
namespace {

using ::testing::HasSubstr;

const Trigger kCount5 = Trigger::AfterCount(5);
const Trigger kCount1 = Trigger::AfterCount(1);
const Trigger kDelay = Trigger::AfterProcessingTime(Seconds(120));
const Trigger kNoDelay = Trigger::AfterProcessingTime({});

TEST(TriggerTest, IsPrintedAsItIsWritten) {
  EXPECT_EQ(ToString(Trigger::Default()), "Default");
  EXPECT_EQ(ToString(Trigger::Always()), "Always");
  EXPECT_EQ(ToString(Trigger::Never()), "Never");
  EXPECT_EQ(ToString(Trigger::AfterWatermark()), "AfterWatermark");
  EXPECT_EQ(ToString(Trigger::AfterWatermark().WithLate(kCount1)),
            "AfterWatermark(late=AfterCount(1))");
  EXPECT_EQ(ToString(Trigger::AfterWatermark().WithLate(kCount1).WithEarly(kDelay)),
            "AfterWatermark(early=AfterProcessingTime(120s), late=AfterCount(1))");
  EXPECT_EQ(ToString(Trigger::Repeatedly(Trigger::AfterAny({Trigger::AfterCount(1000), kDelay}))),
            "Repeatedly(AfterAny(AfterCount(1000), AfterProcessingTime(120s)))");
  EXPECT_EQ(ToString(Trigger::AfterEach({kCount5, Trigger::AfterAll({kCount1, kDelay})})),
            "AfterEach(AfterCount(5), AfterAll(AfterCount(1), AfterProcessingTime(120s)))");
  EXPECT_EQ(ToString(kCount5.OrFinally(Trigger::AfterWatermark())),
            "OrFinally(AfterCount(5), AfterWatermark)");
  EXPECT_EQ(ToString(Trigger::AfterProcessingTime(Millis(1500))), "AfterProcessingTime(1500ms)");
  EXPECT_EQ(ToString(Trigger::AfterProcessingTime(Micros(7))), "AfterProcessingTime(7us)");
}

TEST(TriggerTest, EarlyAndLateMayBeGivenInAnyOrderAndAgain) {
  const Trigger both = Trigger::AfterWatermark().WithEarly(kCount5).WithLate(kDelay);
  EXPECT_EQ(Trigger::AfterWatermark().WithLate(kDelay).WithEarly(kCount5), both);
  EXPECT_EQ(
      Trigger::AfterWatermark().WithEarly(kDelay).WithLate(kCount1).WithEarly(kCount5).WithLate(
          kDelay),
      both);
}

TEST(TriggerTest, ContinuesAsBeamDoes) {
  for (const Trigger& same :
       {Trigger::Default(), Trigger::Always(), Trigger::Never(), Trigger::AfterWatermark()}) {
    EXPECT_EQ(same.Continuation(), same);
  }
  EXPECT_EQ(kCount5.Continuation(), kCount1);
  EXPECT_EQ(kDelay.Continuation(), kNoDelay);
  EXPECT_EQ(Trigger::Repeatedly(kCount5).Continuation(), Trigger::Repeatedly(kCount1));
  EXPECT_EQ(Trigger::AfterAll({kCount5, kDelay}).Continuation(),
            Trigger::AfterAll({kCount1, kNoDelay}));
  EXPECT_EQ(Trigger::AfterAny({kCount5, kDelay}).Continuation(),
            Trigger::AfterAny({kCount1, kNoDelay}));
  EXPECT_EQ(Trigger::AfterEach({kCount5, kDelay}).Continuation(),
            Trigger::Repeatedly(Trigger::AfterAny({kCount1, kNoDelay})));
  EXPECT_EQ(kCount5.OrFinally(kDelay).Continuation(),
            Trigger::Repeatedly(kCount1.OrFinally(kNoDelay)));
  EXPECT_EQ(Trigger::AfterWatermark().WithEarly(kDelay).WithLate(kCount5).Continuation(),
            Trigger::AfterWatermark().WithEarly(kNoDelay).WithLate(kCount1));
}

TEST(TriggerTest, EveryWellFormedTriggerIsAccepted) {
  for (const Trigger& good :
       {Trigger::Default(), Trigger::AfterWatermark().WithEarly(kDelay).WithLate(kCount1), kNoDelay,
        Trigger::Repeatedly(Trigger::AfterAny({kCount5, kDelay})), Trigger::AfterEach({kCount1}),
        kCount5.OrFinally(Trigger::Never())}) {
    EXPECT_TRUE(good.Validate().ok()) << ToString(good);
  }
}

TEST(TriggerTest, AFaultIsNamedWithItsPlace) {
  EXPECT_EQ(Trigger::Repeatedly(Trigger::AfterAny({kCount5, Trigger::AfterCount(0)}))
                .Validate()
                .message(),
            "in Repeatedly: in AfterAny: AfterCount(0): the count must be at least 1");
  EXPECT_EQ(Trigger::AfterProcessingTime(Seconds(-1)).Validate().message(),
            "AfterProcessingTime(-1s): the delay must not be negative");
  EXPECT_EQ(Trigger::AfterEach({}).Validate().message(),
            "AfterEach: needs at least one trigger inside it");
  EXPECT_EQ(Trigger{.kind = Trigger::Kind::kRepeatedly}.Validate().message(),
            "Repeatedly: needs exactly one trigger to repeat");
  EXPECT_EQ(Trigger{.kind = Trigger::Kind::kOrFinally}.Validate().message(),
            "OrFinally: needs exactly two triggers, the main and the final");
  EXPECT_THAT(Trigger::Default().WithLate(kCount1).Validate().message(),
              HasSubstr("only AfterWatermark has early and late firings"));
  EXPECT_THAT(
      (Trigger{.kind = Trigger::Kind::kAfterWatermark, .children = {kCount1}}).Validate().message(),
      HasSubstr("takes an early and a late trigger and no other"));
  EXPECT_THAT((Trigger{.kind = Trigger::Kind::kNever, .children = {kCount1}}).Validate().message(),
              HasSubstr("takes no triggers inside it"));
}

TEST(TriggerTest, ATriggerOfTooManyPartsIsRefused) {
  EXPECT_TRUE(Trigger::AfterAny(std::vector<Trigger>(63, kCount1)).Validate().ok());
  EXPECT_EQ(Trigger::AfterAny(std::vector<Trigger>(64, kCount1)).Validate().message(),
            "a trigger of 65 parts is too large; at most 64 are allowed");
}

TEST(TriggerTest, LosesDataWhereItMayFinishAheadOfTheEnd) {
  const Trigger count = Trigger::AfterCount(2), end = Trigger::AfterWatermark();
  for (const Duration lateness : {Duration{}, Seconds(1)}) {
    EXPECT_TRUE(count.MayLoseData(lateness));
    EXPECT_TRUE(Trigger::AfterProcessingTime(Seconds(1)).MayLoseData(lateness));
    EXPECT_TRUE(Trigger::AfterAny({Trigger::Always(), count}).MayLoseData(lateness));
    EXPECT_TRUE(Trigger::Repeatedly(count).OrFinally(count).MayLoseData(lateness));
    EXPECT_FALSE(Trigger::Default().MayLoseData(lateness));
    EXPECT_FALSE(Trigger::Never().MayLoseData(lateness));
    EXPECT_FALSE(Trigger::Repeatedly(count).MayLoseData(lateness));
    EXPECT_FALSE(end.WithLate(count).MayLoseData(lateness));
    EXPECT_FALSE(Trigger::AfterEach({count, Trigger::Repeatedly(count)}).MayLoseData(lateness));
    EXPECT_FALSE(Trigger::AfterAll({Trigger::Never(), count}).MayLoseData(lateness));
    EXPECT_EQ(end.MayLoseData(lateness), lateness > Duration{});
    EXPECT_EQ(end.WithEarly(count).MayLoseData(lateness), lateness > Duration{});
  }
}

}  // namespace
}  // namespace hornbeam::model
