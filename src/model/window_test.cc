#include "model/window.h"

#include <gtest/gtest.h>

#include "model/windowing_strategy.h"

namespace hornbeam::model {
namespace {

TEST(EventTimeTest, ArithmeticStopsAtTheEnds) {
  EXPECT_EQ(EventTime::Max() + Seconds(1), EventTime::Max());
  EXPECT_EQ(EventTime::Min() - Seconds(1), EventTime::Min());
  EXPECT_EQ(EventTime::FromSeconds(1) + Duration{INT64_MAX}, EventTime::Max());
  EXPECT_EQ(EventTime::FromSeconds(-1) + Duration{INT64_MIN}, EventTime::Min());
}

TEST(EventTimeTest, IsPrintedInUtc) {
  EXPECT_EQ(ToString(EventTime::FromSeconds(1356999300)), "2013-01-01T00:15:00Z");
  EXPECT_EQ(ToString(EventTime{1356999300'250000}), "2013-01-01T00:15:00.25Z");
  EXPECT_EQ(ToString(EventTime::Min()), "-inf");
  EXPECT_EQ(ToString(EventTime::Max()), "+inf");
}

TEST(WindowFnTest, FixedWindowsHoldTheirStartAndNotTheirEnd) {
  const WindowFn fn = WindowFn::Fixed(Seconds(60));
  const Window first{EventTime::FromSeconds(0), EventTime::FromSeconds(60)};
  EXPECT_EQ(fn.AssignOne(EventTime::FromSeconds(0)), first);
  EXPECT_EQ(fn.AssignOne(EventTime::FromSeconds(60) - Micros(1)), first);
  EXPECT_EQ(fn.AssignOne(EventTime::FromSeconds(60)).start, EventTime::FromSeconds(60));
}

TEST(WindowFnTest, TimesBeforeTheEpochAndTheOffsetAreWindowedAlike) {
  const WindowFn fn = WindowFn::Fixed(Seconds(60), Seconds(10));
  EXPECT_EQ(fn.AssignOne(EventTime::FromSeconds(9)).start, EventTime::FromSeconds(-50));
  EXPECT_EQ(fn.AssignOne(EventTime::FromSeconds(10)).start, EventTime::FromSeconds(10));
  EXPECT_EQ(fn.AssignOne(EventTime::FromSeconds(-51)).start, EventTime::FromSeconds(-110));
}

TEST(WindowFnTest, TheGlobalWindowHoldsEverything) {
  EXPECT_TRUE(WindowFn::Global().AssignOne(EventTime::FromSeconds(5)).is_global());
  EXPECT_EQ(ToString(Window::Global()), "[global]");
}

TEST(WindowTest, IsPassedOnlyByAWatermarkBeyondItsLastInstant) {
  const Window window{EventTime::FromSeconds(0), EventTime::FromSeconds(60)};
  EXPECT_FALSE(window.IsPassedBy(window.MaxTimestamp()));
  EXPECT_TRUE(window.IsPassedBy(EventTime::FromSeconds(60)));
  EXPECT_FALSE(Window::Global().IsPassedBy(EventTime::EndOfGlobalWindow()));
  EXPECT_TRUE(Window::Global().IsPassedBy(EventTime::Max()));
}

TEST(WindowingStrategyTest, AWindowLivesAsLongAsItsAllowedLateness) {
  WindowingStrategy strategy;
  strategy.window_fn = WindowFn::Fixed(Seconds(60));
  strategy.allowed_lateness = Seconds(600);
  const Window window = strategy.window_fn.AssignOne(EventTime::FromSeconds(0));
  EXPECT_FALSE(strategy.IsExpired(window, EventTime::FromSeconds(660) - Micros(1)));
  EXPECT_TRUE(strategy.IsExpired(window, EventTime::FromSeconds(660)));
}

TEST(WindowingStrategyTest, FaultsAreRefusedInWords) {
  WindowingStrategy strategy;
  EXPECT_TRUE(strategy.Validate().ok());
  strategy.window_fn = WindowFn::Fixed({});
  EXPECT_EQ(strategy.Validate().message(), "the size of a fixed window must be above zero");
  strategy.window_fn = WindowFn::Fixed(Seconds(1));
  strategy.allowed_lateness = Seconds(-1);
  EXPECT_EQ(strategy.Validate().message(), "allowed lateness must not be negative");
  strategy.allowed_lateness = {};
  strategy.trigger = Trigger::AfterCount(0);
  EXPECT_EQ(strategy.Validate().message(), "trigger: AfterCount(0): the count must be at least 1");
}

TEST(TimeTest, WhatDoesNotFitIsTheNearestThatDoes) {
  EXPECT_EQ(EventTime::FromSeconds(INT64_MAX), EventTime::Max());
  EXPECT_EQ(EventTime::FromSeconds(INT64_MIN), EventTime::Min());
  EXPECT_EQ(EventTime::FromMicros(INT64_MAX), EventTime::Max());
  EXPECT_EQ(EventTime::FromMicros(-7), EventTime{-7});
  EXPECT_EQ(Seconds(INT64_MAX), Duration{INT64_MAX});
  EXPECT_EQ(Hours(INT64_MIN), Duration{INT64_MIN});
  EXPECT_EQ(EventTime::Max() - Duration{INT64_MIN}, EventTime::Max());
  EXPECT_EQ(EventTime{0} - Duration{INT64_MIN}, EventTime::Max());
  EXPECT_EQ(EventTime::Max() - EventTime::Min(), Duration{INT64_MAX});
  EXPECT_EQ(EventTime::Min() - EventTime::Max(), Duration{INT64_MIN});
  EXPECT_EQ(ProcessingTime::Never() + Seconds(1), ProcessingTime::Never());
}

}  // namespace
}  // namespace hornbeam::model
