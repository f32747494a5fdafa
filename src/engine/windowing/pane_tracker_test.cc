#include "engine/windowing/pane_tracker.h"

#include <gtest/gtest.h>

#include <string>

namespace hornbeam::engine {
namespace {

using model::EventTime;
using model::Micros;
using model::PaneInfo;
using model::PaneTiming;
using model::Window;

const Window kMinute{EventTime::FromSeconds(0), EventTime::FromSeconds(60)};
const EventTime kBefore =
    EventTime::FromSeconds(60) - Micros(1);  // the window's last instant is still to come
const EventTime kAfter = EventTime::FromSeconds(60);

TEST(PaneTrackerTest, TheOnlyPaneIsFirstAndLast) {
  PaneState state;
  EXPECT_EQ(NextPane(&state, kAfter, kMinute, true),
            (PaneInfo{PaneTiming::kOnTime, true, true, 0, 0}));
}

TEST(PaneTrackerTest, EarlyThenOnTimeOnceThenLate) {
  PaneState state;
  EXPECT_FALSE(state.has_fired());
  EXPECT_EQ(NextPane(&state, EventTime::Min(), kMinute, false),
            (PaneInfo{PaneTiming::kEarly, true, false, 0, -1}));
  EXPECT_TRUE(state.has_fired());
  EXPECT_EQ(NextPane(&state, kBefore, kMinute, false),
            (PaneInfo{PaneTiming::kEarly, false, false, 1, -1}));
  EXPECT_FALSE(state.on_time_is_over());
  EXPECT_EQ(NextPane(&state, kAfter, kMinute, false),
            (PaneInfo{PaneTiming::kOnTime, false, false, 2, 0}));
  EXPECT_TRUE(state.on_time_is_over());
  EXPECT_EQ(NextPane(&state, kAfter, kMinute, false),
            (PaneInfo{PaneTiming::kLate, false, false, 3, 1}));
  EXPECT_EQ(NextPane(&state, EventTime::Max(), kMinute, true),
            (PaneInfo{PaneTiming::kLate, false, true, 4, 2}));
}

TEST(PaneTrackerTest, APaneAfterTheOnTimeOneIsLateWhateverTheWatermark) {
  PaneState state;
  NextPane(&state, kAfter, kMinute, false);
  EXPECT_EQ(NextPane(&state, kBefore, kMinute, false).timing, PaneTiming::kLate);
}

TEST(PaneTrackerTest, WhatIsLateForTheOutputIsNeverOnTime) {
  PaneState state;
  EXPECT_EQ(NextPane(&state, kAfter, kMinute, false, true),
            (PaneInfo{PaneTiming::kLate, true, false, 0, 0}));
  EXPECT_EQ(NextPane(&state, kAfter, kMinute, false),
            (PaneInfo{PaneTiming::kLate, false, false, 1, 1}));
}

TEST(PaneTrackerTest, TheFirstPaneOfTheGlobalWindowIsEarlyUntilTheWatermarkIsAtInfinity) {
  PaneState state;
  EXPECT_EQ(NextPane(&state, EventTime::EndOfGlobalWindow(), Window::Global(), false).timing,
            PaneTiming::kEarly);
  EXPECT_EQ(NextPane(&state, EventTime::Max(), Window::Global(), true).timing, PaneTiming::kOnTime);
}

TEST(PaneTrackerTest, StatesSurviveTheDisk) {
  for (const PaneState& state :
       {PaneState{}, PaneState{3, 0}, PaneState{0, 1}, PaneState{UINT32_MAX, 300}}) {
    std::string bytes;
    EncodePaneState(state, &bytes);
    ByteReader in(bytes);
    PaneState read;
    EXPECT_TRUE(DecodePaneState(&in, &read));
    EXPECT_TRUE(in.done());
    EXPECT_EQ(read, state);
  }
}

TEST(PaneTrackerTest, BadBytesAreRefused) {
  const auto decodes = [](std::string bytes) {
    ByteReader in(bytes);
    PaneState state;
    return DecodePaneState(&in, &state);
  };
  EXPECT_FALSE(decodes(""));
  EXPECT_FALSE(decodes("\x01"));
  EXPECT_FALSE(decodes("\x01\xff\xff\xff\xff\x7f"));  // above 32 bits
}

}  // namespace
}  // namespace hornbeam::engine
