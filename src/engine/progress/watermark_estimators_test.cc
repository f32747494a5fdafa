#include "engine/progress/watermark_estimators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace hornbeam::engine {
namespace {

using model::Duration;
using model::EventTime;
using model::Micros;
using model::Millis;
using model::ProcessingTime;
using model::Seconds;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TEST(BoundedOutOfOrdernessTest, FollowsTheNewestElementAtADistance) {
  BoundedOutOfOrderness estimator(Seconds(10), Seconds(1));
  EXPECT_EQ(estimator.watermark(), EventTime::Min());
  EXPECT_TRUE(estimator.Observe(At(100)));
  EXPECT_EQ(estimator.watermark(), At(90));
  EXPECT_FALSE(estimator.Observe(At(95)));
  EXPECT_FALSE(estimator.Observe(At(101) - Micros(1)));
  EXPECT_EQ(estimator.watermark(), At(90));
  EXPECT_TRUE(estimator.Observe(At(101)));
  EXPECT_EQ(estimator.watermark(), At(91));
}

TEST(BoundedOutOfOrdernessTest, RoundsDownBeforeTheEpochToo) {
  BoundedOutOfOrderness estimator(Seconds(0), Seconds(60));
  EXPECT_TRUE(estimator.Observe(At(-61)));
  EXPECT_EQ(estimator.watermark(), At(-120));
  EXPECT_FALSE(estimator.Observe(At(-61)));
  EXPECT_TRUE(estimator.Observe(At(-60)));
  EXPECT_EQ(estimator.watermark(), At(-60));
}

TEST(BoundedOutOfOrdernessTest, TheEndsOfTimeAreSafe) {
  BoundedOutOfOrderness estimator(Seconds(10), Seconds(60));
  EXPECT_FALSE(estimator.Observe(EventTime::Min()));
  EXPECT_FALSE(estimator.Observe(EventTime::Min() + Seconds(20)));
  EXPECT_EQ(estimator.watermark(), EventTime::Min());
  EXPECT_TRUE(estimator.Observe(EventTime::Max()));
  EXPECT_LE(estimator.watermark(), EventTime::Max() - Seconds(10));
  EXPECT_FALSE(estimator.Observe(EventTime::Max()));

  BoundedOutOfOrderness forever(Duration{INT64_MAX}, Duration{INT64_MAX});
  EXPECT_FALSE(forever.Observe(At(0)));
  EXPECT_EQ(forever.watermark(), EventTime::Min());
}

TEST(BoundedOutOfOrdernessTest, IsTheDefinitionAtEveryElement) {
  Rng rng(5);
  for (const auto& [disorder, granularity] :
       {std::pair{Seconds(0), Micros(1)}, {Seconds(7), Seconds(3)}, {Millis(1), Seconds(60)}}) {
    BoundedOutOfOrderness estimator(disorder, granularity);
    EventTime newest = EventTime::Min(), expected = EventTime::Min();
    for (int i = 0; i < 5'000; ++i) {
      const EventTime t{int64_t{i - 2'500} * 20'000 + static_cast<int64_t>(rng.Below(9'000'000))};
      newest = std::max(newest, t);
      // Shifted far up, so that division rounds down.
      const int64_t shift = granularity.us * 1'000'000;
      const int64_t floor =
          (newest.us - disorder.us + shift) / granularity.us * granularity.us - shift;
      ASSERT_EQ(estimator.Observe(t), EventTime{floor} > expected);
      expected = std::max(expected, EventTime{floor});
      ASSERT_EQ(estimator.watermark(), expected);
    }
  }
}

TEST(BoundedOutOfOrdernessTest, GoesOnFromTheDisk) {
  BoundedOutOfOrderness before(Seconds(10), Seconds(1));
  for (const bool started : {false, true}) {
    if (started) before.Observe(At(100));
    std::string bytes;
    before.Encode(&bytes);
    ByteReader in(bytes);
    BoundedOutOfOrderness after(Seconds(10), Seconds(1));
    ASSERT_TRUE(after.Decode(&in));
    EXPECT_EQ(after.watermark(), before.watermark());
    EXPECT_FALSE(started && after.Observe(At(101) - Micros(1)));
    EXPECT_TRUE(after.Observe(At(101)));
  }
  ByteReader empty("");
  EXPECT_FALSE(before.Decode(&empty));
}

// The engine's clock, in seconds since a start that is late enough for the messages' times.
constexpr int64_t kStart = 1'700'000'000;
ProcessingTime Now(int64_t s) { return {(kStart + s) * 1'000'000}; }
EventTime Event(int64_t s) { return At(kStart + s); }

TEST(PubSubWatermarkTest, AMessageCountsWhenItHasAgedABand) {
  PubSubWatermark watermark;
  watermark.Observe(Event(-3), Now(0));
  EXPECT_EQ(watermark.Watermark(Now(10)), EventTime::Min());
  EXPECT_EQ(watermark.Watermark(Now(11)), Event(-3));
}

TEST(PubSubWatermarkTest, TheLeastOfTheBandHoldsTheNewerOnesBack) {
  PubSubWatermark watermark;
  watermark.Observe(Event(-1), Now(0));
  watermark.Observe(Event(-7), Now(5));
  watermark.Observe(Event(4), Now(6));
  EXPECT_EQ(watermark.Watermark(Now(11)), Event(-7));
  EXPECT_EQ(watermark.Watermark(Now(16)), Event(-7));
  EXPECT_EQ(watermark.Watermark(Now(17)), Event(4));
}

TEST(PubSubWatermarkTest, NothingThatComesWithinABandIsLate) {
  Rng rng(11);
  PubSubWatermark watermark;
  EventTime last = EventTime::Min();
  for (int64_t tenth = 0; tenth < 3'000; ++tenth) {
    const ProcessingTime now{Now(0).us + tenth * 100'000};
    const EventTime event{now.us - static_cast<int64_t>(rng.Below(9'900'000))};
    const EventTime w = watermark.Watermark(now);
    ASSERT_GE(event, w) << tenth;
    ASSERT_GE(w, last);
    last = w;
    watermark.Observe(event, now);
  }
  EXPECT_GE(last,
            Event(300 - 22));  // a band for the ageing, a band of disorder, and a bucket or two
}

TEST(PubSubWatermarkTest, TheOldestOfABacklogHoldsItBack) {
  PubSubWatermark watermark;
  watermark.OnBacklog(Event(-100));
  watermark.Observe(Event(-2), Now(0));
  EXPECT_EQ(watermark.Watermark(Now(11)), Event(-100));
  watermark.OnBacklog(std::nullopt);
  watermark.Observe(Event(11), Now(12));
  EXPECT_EQ(watermark.Watermark(Now(23)), Event(11));
}

TEST(PubSubWatermarkTest, AnEmptySubscriptionMovesOnWithTheClock) {
  PubSubWatermark watermark;
  watermark.Observe(Event(-60), Now(0));
  watermark.OnEmpty(Now(5));
  EXPECT_EQ(watermark.Watermark(Now(5)), EventTime::Min());
  watermark.OnEmpty(Now(12));
  EXPECT_EQ(watermark.Watermark(Now(12)), Event(-60));
  watermark.OnEmpty(Now(20));
  EXPECT_EQ(watermark.Watermark(Now(20)), Event(-52));
  // Not the question moves it, only the report that nothing came.
  EXPECT_EQ(watermark.Watermark(Now(30)), Event(-52));
}

TEST(PubSubWatermarkTest, SilenceMeansNothingWhileInterruptedOrWithABacklog) {
  PubSubWatermark watermark;
  watermark.Observe(Event(0), Now(0));
  watermark.OnEmpty(Now(12));
  watermark.OnInterrupted();
  watermark.OnEmpty(Now(100));
  EXPECT_EQ(watermark.Watermark(Now(100)), Event(0));
  watermark.OnBacklog(std::nullopt);
  watermark.OnEmpty(Now(200));
  EXPECT_EQ(watermark.Watermark(Now(200)), Event(0));
  watermark.OnEmpty(Now(201));
  EXPECT_EQ(watermark.Watermark(Now(201)), Event(1));
}

TEST(PubSubWatermarkTest, IsAtMostNow) {
  PubSubWatermark watermark;
  watermark.Observe(Event(3'600), Now(0));
  EXPECT_EQ(watermark.Watermark(Now(11)), Event(11));
  watermark.OnEmpty(Now(12));
  watermark.OnEmpty(Now(13));
  EXPECT_EQ(watermark.Watermark(Now(13)), Event(12));
}

TEST(PubSubWatermarkTest, NeverGoesBack) {
  PubSubWatermark watermark;
  watermark.Observe(Event(0), Now(0));
  EXPECT_EQ(watermark.Watermark(Now(11)), Event(0));
  watermark.Observe(Event(-500), Now(12));
  watermark.OnBacklog(Event(-900));
  EXPECT_EQ(watermark.Watermark(Now(40)), Event(0));
}

TEST(PubSubWatermarkTest, AnEmptyNewSubscriptionStandsAtItsStart) {
  PubSubWatermark unknown;
  unknown.OnEmpty(Now(0));
  unknown.OnEmpty(Now(60));
  EXPECT_EQ(unknown.Watermark(Now(60)), EventTime::Min());

  PubSubWatermark known({.start = Event(-30)});
  known.OnEmpty(Now(0));
  known.OnEmpty(Now(20));
  EXPECT_EQ(known.Watermark(Now(20)), Event(-10));
}

TEST(PubSubWatermarkTest, AReplayOfOldDataIsNotLate) {
  // Ten years old, a thousand seconds of event time for each of the clock's, out of order by an
  // hour, with pauses.
  Rng rng(13);
  PubSubWatermark watermark;
  const int64_t ten_years_ago = -315'360'000;
  int64_t newest = ten_years_ago;
  for (int64_t second = 0; second < 600; ++second) {
    const bool pause = second % 100 >= 80;
    if (pause) {
      watermark.OnEmpty(Now(second));
    } else {
      newest = ten_years_ago + second * 1'000;
      for (int i = 0; i < 10; ++i) {
        const EventTime event = Event(newest - static_cast<int64_t>(rng.Below(3'600)));
        ASSERT_GE(event, watermark.Watermark(Now(second))) << second;
        watermark.Observe(event, Now(second));
      }
    }
    ASSERT_LE(watermark.Watermark(Now(second)), Event(newest));
  }
  EXPECT_GE(watermark.Watermark(Now(600)), Event(newest - 3'600));
}

TEST(PubSubWatermarkTest, AfterARestartItStandsWhereItWasUntilTheLeasesAreOver) {
  PubSubWatermark watermark;
  watermark.Resume(Event(-40), Now(30));
  EXPECT_EQ(watermark.Watermark(Now(0)), Event(-40));
  watermark.Observe(Event(1), Now(2));
  EXPECT_EQ(watermark.Watermark(Now(15)), Event(-40));
  watermark.Observe(Event(-39), Now(28));  // what the previous process had leased comes again
  EXPECT_EQ(watermark.Watermark(Now(29)), Event(-40));
  watermark.Observe(Event(30), Now(31));
  EXPECT_EQ(watermark.Watermark(Now(39)), Event(-39));
  EXPECT_EQ(watermark.Watermark(Now(42)), Event(30));
}

TEST(PubSubWatermarkTest, HowOftenItIsAskedChangesNothing) {
  Rng rng(17);
  PubSubWatermark asked, unasked;
  for (int64_t step = 0; step < 2'000; ++step) {
    const ProcessingTime now{Now(0).us + step * 137'000};
    if (rng.OneIn(3)) {
      const EventTime event{now.us - static_cast<int64_t>(rng.Below(30'000'000))};
      asked.Observe(event, now);
      unasked.Observe(event, now);
    }
    asked.Watermark(now);
  }
  EXPECT_EQ(asked.Watermark(Now(300)), unasked.Watermark(Now(300)));
}

}  // namespace
}  // namespace hornbeam::engine
