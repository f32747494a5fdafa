// GroupByKey and CombinePerKey: which panes come out, stated in full, in every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using model::ClosingBehavior;
using model::OnTimeBehavior;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

using Event = KV<std::string, int64_t>;
using Events = TestStream<Event>;
constexpr int64_t kGlobal = -1;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TimestampedValue<Event> Ev(const std::string& key, int64_t value, int64_t at_s) { return {{key, value}, At(at_s)}; }

Events Begin() { return Events().AdvanceWatermarkTo(At(0)); }

// A pane as it is expected. `pane` is "early 0/-1 first": timing, index/on-time index, flags, "@3" for a timestamp in
// seconds that is not the window's last instant.
struct Pane {
  std::string key;
  int64_t window_s;  // its start
  std::vector<int64_t> values;
  std::string pane;
};

std::string Describe(const PaneInfo& pane, EventTime timestamp, const Window& window) {
  const char* const timing = pane.timing == PaneTiming::kEarly    ? "early"
                             : pane.timing == PaneTiming::kOnTime ? "on time"
                             : pane.timing == PaneTiming::kLate   ? "late"
                                                                  : "unknown";
  std::string text = absl::StrCat(timing, " ", pane.index, "/", pane.on_time_index);
  if (pane.is_first) absl::StrAppend(&text, " first");
  if (pane.is_last) absl::StrAppend(&text, " last");
  if (timestamp != window.MaxTimestamp()) absl::StrAppend(&text, " @", timestamp.us / 1'000'000);
  return text;
}

std::string Line(const std::string& key, int64_t window_s, const std::string& value, const std::string& pane) {
  return absl::StrCat(key, " ", window_s == kGlobal ? "global" : absl::StrCat(window_s), " {", value, "} ", pane);
}

template <typename V>
std::vector<std::string> Lines(const Collector<KV<std::string, V>>& collector) {
  std::vector<std::string> lines;
  for (const auto& element : collector.elements()) {
    std::string value;
    if constexpr (std::is_same_v<V, int64_t>) {
      value = absl::StrCat(element.value.value);
    } else {
      value = absl::StrJoin(element.value.value, "+");
    }
    lines.push_back(Line(element.value.key,
                         element.window.is_global() ? kGlobal : element.window.start.us / 1'000'000, value,
                         Describe(element.pane, element.timestamp, element.window)));
  }
  return lines;
}

// Both groupings put out the expected panes, in every mode.
void ExpectPanes(const Events& events, const WindowInto& windowing, const std::vector<Pane>& expected) {
  std::vector<std::string> grouped, summed;
  for (const Pane& pane : expected) {
    grouped.push_back(Line(pane.key, pane.window_s, absl::StrJoin(pane.values, "+"), pane.pane));
    const int64_t sum = std::accumulate(pane.values.begin(), pane.values.end(), int64_t{0});
    summed.push_back(Line(pane.key, pane.window_s, absl::StrCat(sum), pane.pane));
  }
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, std::vector<int64_t>>> groups;
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline.options().allow_unsafe_triggers = true;  // what they do is stated here, too
      const auto windowed = pipeline | "Events" >> events | "Window" >> windowing;
      windowed | "Group" >> GroupByKey() | "Groups" >> Collect(&groups);
      windowed | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(Lines(groups), UnorderedElementsAreArray(grouped));
    EXPECT_THAT(Lines(sums), UnorderedElementsAreArray(summed));
  });
}

WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }
WindowInto TensLate() { return Tens().WithAllowedLateness(Seconds(60)); }

TEST(GroupingTest, DefaultTriggerFiresOncePerWindow) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2), Ev("b", 3, 12), Ev("a", 4, 9)})
                  .AdvanceWatermarkTo(At(10))
                  .AddTimestamped({Ev("a", 5, 3)})  // dropped
                  .AdvanceWatermarkToInfinity(),
              Tens(),
              {{"a", 0, {1, 2, 4}, "on time 0/0 first last"}, {"b", 10, {3}, "on time 0/0 first last"}});
}

TEST(GroupingTest, AnInstantBeforeTheEndIsNotTheEnd) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1)})
                  .AdvanceWatermarkTo(At(10) - Micros(1))
                  .AddTimestamped({Ev("a", 2, 2)})
                  .AdvanceWatermarkToInfinity(),
              Tens(), {{"a", 0, {1, 2}, "on time 0/0 first last"}});
}

Events WithLateOnes() {
  return Begin()
      .AddTimestamped({Ev("a", 1, 1)})
      .AdvanceWatermarkTo(At(10))
      .AddTimestamped({Ev("a", 2, 2)})
      .AdvanceWatermarkTo(At(20))
      .AddTimestamped({Ev("a", 3, 3), Ev("late", 7, 4)})
      .AdvanceWatermarkTo(At(70))
      .AddTimestamped({Ev("a", 4, 4)})  // dropped: 9.999999 + 60 has passed
      .AdvanceWatermarkToInfinity();
}

TEST(GroupingTest, DefaultTriggerFiresForEachLateElement) {
  ExpectPanes(WithLateOnes(), TensLate(),
              {{"a", 0, {1}, "on time 0/0 first"},
               {"a", 0, {2}, "late 1/1"},
               {"a", 0, {3}, "late 2/2"},
               {"late", 0, {7}, "late 0/0 first"}});
}

TEST(GroupingTest, AccumulatingPanesHoldWhatCameBefore) {
  ExpectPanes(WithLateOnes(), TensLate().AccumulatingFiredPanes(),
              {{"a", 0, {1}, "on time 0/0 first"},
               {"a", 0, {1, 2}, "late 1/1"},
               {"a", 0, {1, 2, 3}, "late 2/2"},
               {"late", 0, {7}, "late 0/0 first"}});
}

// Beam's surprise: an accumulating grouping knows nothing of ids, so a duplicate that comes late counts again.
TEST(GroupingTest, ALateDuplicateIsCountedAgain) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 5, 1)})
                  .AdvanceWatermarkTo(At(10))
                  .AddTimestamped({Ev("a", 5, 1)})
                  .AdvanceWatermarkToInfinity(),
              TensLate().AccumulatingFiredPanes(),
              {{"a", 0, {5}, "on time 0/0 first"}, {"a", 0, {5, 5}, "late 1/1"}});
}

Trigger EarlyAndLate() {
  return Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(2)).WithLate(Trigger::AfterCount(1));
}

Events ForEarlyAndLate() {
  return Begin()
      .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2), Ev("a", 3, 3), Ev("b", 9, 5)})
      .AdvanceWatermarkTo(At(10))
      .AddTimestamped({Ev("a", 4, 4)})
      .AdvanceWatermarkTo(At(20))
      .AdvanceWatermarkToInfinity();
}

TEST(GroupingTest, EarlyByCountOnTimeAndLate) {
  ExpectPanes(ForEarlyAndLate(), TensLate().Triggering(EarlyAndLate()),
              {{"a", 0, {1, 2}, "early 0/-1 first"},
               {"a", 0, {3}, "on time 1/0"},
               {"a", 0, {4}, "late 2/1"},
               {"b", 0, {9}, "on time 0/0 first"}});
}

TEST(GroupingTest, EarlyByCountOnTimeAndLateAccumulating) {
  ExpectPanes(ForEarlyAndLate(), TensLate().Triggering(EarlyAndLate()).AccumulatingFiredPanes(),
              {{"a", 0, {1, 2}, "early 0/-1 first"},
               {"a", 0, {1, 2, 3}, "on time 1/0"},
               {"a", 0, {1, 2, 3, 4}, "late 2/1"},
               {"b", 0, {9}, "on time 0/0 first"}});
}

TEST(GroupingTest, EarlyByProcessingTime) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1)})
                  .AdvanceProcessingTime(Seconds(59))
                  .AddTimestamped({Ev("a", 2, 2)})
                  .AdvanceProcessingTime(Seconds(1))
                  .AddTimestamped({Ev("a", 3, 3)})
                  .AdvanceWatermarkTo(At(10))
                  .AdvanceProcessingTime(Seconds(120))
                  .AdvanceWatermarkToInfinity(),
              Tens().Triggering(Trigger::AfterWatermark().WithEarly(Trigger::AfterProcessingTime(Seconds(60)))),
              {{"a", 0, {1, 2}, "early 0/-1 first"}, {"a", 0, {3}, "on time 1/0 last"}});
}

TEST(GroupingTest, LateByProcessingTime) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1)})
                  .AdvanceWatermarkTo(At(10))
                  .AddTimestamped({Ev("a", 2, 2)})
                  .AdvanceProcessingTime(Seconds(10))
                  .AddTimestamped({Ev("a", 3, 2)})
                  .AdvanceProcessingTime(Seconds(20))
                  .AddTimestamped({Ev("a", 4, 2)})  // comes out when the window closes
                  .AdvanceWatermarkToInfinity(),
              TensLate().Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterProcessingTime(Seconds(30)))),
              {{"a", 0, {1}, "on time 0/0 first"}, {"a", 0, {2, 3}, "late 1/1"}, {"a", 0, {4}, "late 2/2 last"}});
}

TEST(GroupingTest, AnEmptyOnTimePaneComesUnlessItIsNotWanted) {
  const Events events = Begin()
                            .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2)})
                            .AdvanceWatermarkTo(At(10))
                            .AddTimestamped({Ev("a", 3, 3)})
                            .AdvanceWatermarkToInfinity();
  ExpectPanes(events, TensLate().Triggering(EarlyAndLate()),
              {{"a", 0, {1, 2}, "early 0/-1 first"}, {"a", 0, {}, "on time 1/0"}, {"a", 0, {3}, "late 2/1"}});
  ExpectPanes(events,
              TensLate().Triggering(EarlyAndLate()).WithOnTimeBehavior(OnTimeBehavior::kFireIfNonEmpty),
              {{"a", 0, {1, 2}, "early 0/-1 first"}, {"a", 0, {3}, "late 1/0"}});
}

// The end of the window is past for the trigger, though its pane was empty and not put out.
TEST(GroupingTest, TheLateTriggerCountsAfterAnEmptyOnTimePane) {
  const Trigger trigger =
      Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(1)).WithLate(Trigger::AfterCount(2));
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1)})
                  .AdvanceWatermarkTo(At(10))
                  .AddTimestamped({Ev("a", 2, 2), Ev("a", 3, 3), Ev("a", 4, 4)})
                  .AdvanceWatermarkToInfinity(),
              TensLate().Triggering(trigger).WithOnTimeBehavior(OnTimeBehavior::kFireIfNonEmpty),
              {{"a", 0, {1}, "early 0/-1 first"}, {"a", 0, {2, 3}, "late 1/0"}, {"a", 0, {4}, "late 2/1 last"}});
}

TEST(GroupingTest, AClosingPaneComesAlwaysWhereItIsWanted) {
  const Events events = Begin().AddTimestamped({Ev("a", 1, 1)}).AdvanceWatermarkTo(At(10)).AdvanceWatermarkToInfinity();
  ExpectPanes(events, TensLate(), {{"a", 0, {1}, "on time 0/0 first"}});
  ExpectPanes(events, TensLate().WithClosingBehavior(ClosingBehavior::kFireAlways),
              {{"a", 0, {1}, "on time 0/0 first"}, {"a", 0, {}, "late 1/1 last"}});
  ExpectPanes(events, TensLate().AccumulatingFiredPanes().WithClosingBehavior(ClosingBehavior::kFireAlways),
              {{"a", 0, {1}, "on time 0/0 first"}, {"a", 0, {1}, "late 1/1 last"}});
}

TEST(GroupingTest, AfterWatermarkClosesTheWindowAtItsEnd) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1)})
                  .AdvanceWatermarkTo(At(10))
                  .AddTimestamped({Ev("a", 2, 2)})  // closed, though not too late
                  .AdvanceWatermarkToInfinity(),
              TensLate().Triggering(Trigger::AfterWatermark()), {{"a", 0, {1}, "on time 0/0 first last"}});
}

TEST(GroupingTest, AfterCountFiresOnceAndClosesTheWindow) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2), Ev("a", 3, 3), Ev("b", 4, 4)})
                  .AdvanceWatermarkToInfinity(),
              Tens().Triggering(Trigger::AfterCount(2)),
              {{"a", 0, {1, 2}, "early 0/-1 first last"}, {"b", 0, {4}, "on time 0/0 first last"}});
}

TEST(GroupingTest, RepeatedlyAfterCount) {
  const Events events =
      Begin()
          .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2), Ev("a", 3, 3), Ev("b", 4, 4), Ev("b", 5, 5)})
          .AdvanceWatermarkTo(At(10))
          .AdvanceWatermarkToInfinity();
  const Trigger trigger = Trigger::Repeatedly(Trigger::AfterCount(2));
  // The on-time pane of b is empty, and comes all the same (FIRE_ALWAYS).
  ExpectPanes(events, Tens().Triggering(trigger),
              {{"a", 0, {1, 2}, "early 0/-1 first"},
               {"a", 0, {3}, "on time 1/0 last"},
               {"b", 0, {4, 5}, "early 0/-1 first"},
               {"b", 0, {}, "on time 1/0 last"}});
  ExpectPanes(events, Tens().Triggering(trigger).AccumulatingFiredPanes(),
              {{"a", 0, {1, 2}, "early 0/-1 first"},
               {"a", 0, {1, 2, 3}, "on time 1/0 last"},
               {"b", 0, {4, 5}, "early 0/-1 first"},
               {"b", 0, {4, 5}, "on time 1/0 last"}});
}

// The trigger does not look at the watermark, so nothing comes at the end of the window; what waits comes when it closes.
TEST(GroupingTest, RepeatedlyAfterCountWithLateness) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1), Ev("b", 2, 2), Ev("b", 3, 3)})
                  .AdvanceWatermarkTo(At(10))
                  .AddTimestamped({Ev("a", 4, 4), Ev("c", 5, 5), Ev("c", 6, 6)})
                  .AdvanceWatermarkToInfinity(),
              TensLate().Triggering(Trigger::Repeatedly(Trigger::AfterCount(2))),
              {{"a", 0, {1, 4}, "on time 0/0 first"},  // its first element still holds the watermark in the window
               {"b", 0, {2, 3}, "early 0/-1 first"},
               {"c", 0, {5, 6}, "late 0/0 first"}});
}

TEST(GroupingTest, RepeatedlyByCountOrTimeDiscarding) {
  ExpectPanes(Begin()
                  .AddTimestamped({Ev("a", 1, 1)})
                  .AdvanceProcessingTime(Seconds(60))
                  .AddTimestamped({Ev("a", 2, 2)})
                  .AdvanceProcessingTime(Seconds(59))
                  .AddTimestamped({Ev("a", 3, 3)})
                  .AdvanceProcessingTime(Seconds(1))  // 120 s after the first
                  .AddTimestamped({Ev("a", 4, 4)})
                  .AdvanceProcessingTime(Seconds(119))
                  .AdvanceProcessingTime(Seconds(1))
                  .AddTimestamped({Ev("a", 5, 5), Ev("a", 6, 6), Ev("a", 7, 7), Ev("a", 8, 8), Ev("a", 9, 9)})
                  .AdvanceWatermarkToInfinity(),
              Tens().Triggering(Trigger::Repeatedly(
                  Trigger::AfterAny({Trigger::AfterCount(4), Trigger::AfterProcessingTime(Seconds(120))}))),
              {{"a", 0, {1, 2, 3}, "early 0/-1 first"},
               {"a", 0, {4}, "early 1/-1"},
               {"a", 0, {5, 6, 7, 8}, "early 2/-1"},
               {"a", 0, {9}, "on time 3/0 last"}});
}

TEST(GroupingTest, AlwaysFiresForEachElement) {
  ExpectPanes(Begin().AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2)}).AdvanceWatermarkToInfinity(),
              Tens().Triggering(Trigger::Always()),
              {{"a", 0, {1}, "early 0/-1 first"}, {"a", 0, {2}, "early 1/-1"}, {"a", 0, {}, "on time 2/0 last"}});
}

TEST(GroupingTest, NeverFiresOnlyWhenTheWindowCloses) {
  const Events events = Begin()
                            .AddTimestamped({Ev("a", 1, 1)})
                            .AdvanceWatermarkTo(At(10))
                            .AddTimestamped({Ev("a", 2, 2)})
                            .AdvanceWatermarkToInfinity();
  ExpectPanes(events, Tens().Triggering(Trigger::Never()), {{"a", 0, {1}, "on time 0/0 first last"}});
  ExpectPanes(events, TensLate().Triggering(Trigger::Never()), {{"a", 0, {1, 2}, "on time 0/0 first last"}});
}

TEST(GroupingTest, GlobalWindow) {
  const Events events =
      Begin().AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 50), Ev("a", 3, 9)}).AdvanceWatermarkTo(At(70)).AdvanceWatermarkToInfinity();
  ExpectPanes(events, WindowInto(GlobalWindows()), {{"a", kGlobal, {1, 2, 3}, "on time 0/0 first last"}});
  ExpectPanes(events, WindowInto(GlobalWindows()).Triggering(Trigger::Repeatedly(Trigger::AfterCount(2))),
              {{"a", kGlobal, {1, 2}, "early 0/-1 first"}, {"a", kGlobal, {3}, "on time 1/0 last"}});
  // Lateness does not carry a window past the end of time.
  ExpectPanes(events,
              WindowInto(GlobalWindows())
                  .Triggering(Trigger::Repeatedly(Trigger::AfterCount(2)))
                  .WithAllowedLateness(Hours(48)),
              {{"a", kGlobal, {1, 2}, "early 0/-1 first"}, {"a", kGlobal, {3}, "on time 1/0 last"}});
}

TEST(GroupingTest, NothingComesOfNothing) {
  ExpectPanes(Begin().AdvanceWatermarkTo(At(100)).AdvanceWatermarkToInfinity(), TensLate(), {});
  ExpectPanes(Events(), Tens().WithClosingBehavior(ClosingBehavior::kFireAlways), {});
}

TEST(GroupingTest, TheLeastTimestampHasAWindow) {
  ForEachMode(1, [](const TestMode& mode) {
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Create" >> Create<Event>(std::vector<Event>{{"a", 1}, {"a", 2}})
               | "Window" >> WindowInto(FixedWindows(Hours(1), Minutes(7))) | "Sum" >> CombinePerKey(Sum<int64_t>())
               | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(sums.values(), testing::ElementsAre(Event{"a", 3}));
  });
}

TEST(GroupingTest, TimestampCombinersStampThePane) {
  const Events events = Begin()
                            .AddTimestamped({Ev("a", 1, 3), Ev("a", 2, 5), Ev("a", 3, 4), Ev("b", 4, 7)})
                            .AdvanceWatermarkTo(At(10))
                            .AddTimestamped({Ev("a", 5, 6)})
                            .AdvanceWatermarkToInfinity();
  // A late element is behind the watermark and has no part in the timestamp.
  ExpectPanes(events, TensLate().WithTimestampCombiner(TimestampCombiner::kEarliest),
              {{"a", 0, {1, 2, 3}, "on time 0/0 first @3"},
               {"b", 0, {4}, "on time 0/0 first @7"},
               {"a", 0, {5}, "late 1/1"}});
  ExpectPanes(events, TensLate().WithTimestampCombiner(TimestampCombiner::kLatest),
              {{"a", 0, {1, 2, 3}, "on time 0/0 first @5"},
               {"b", 0, {4}, "on time 0/0 first @7"},
               {"a", 0, {5}, "late 1/1"}});
}

TEST(GroupingTest, AHeldTimestampIsNotLateDownstream) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> Begin()
                                 .AddTimestamped({Ev("a", 1, 3), Ev("b", 2, 5)})
                                 .AdvanceWatermarkTo(At(4))
                                 .AddTimestamped({Ev("a", 10, 8)})
                                 .AdvanceWatermarkTo(At(6))
                                 .AdvanceWatermarkTo(At(10))
                                 .AdvanceWatermarkToInfinity()
               | "Tens" >> Tens().WithTimestampCombiner(TimestampCombiner::kEarliest)
               | "Sum" >> CombinePerKey(Sum<int64_t>())
               | "Twos" >> WindowInto(FixedWindows(Seconds(2))).WithTimestampCombiner(TimestampCombiner::kEndOfWindow)
               | "Again" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(Lines(sums), testing::UnorderedElementsAre("a 2 {11} on time 0/0 first last",
                                                           "b 4 {2} on time 0/0 first last"));
  });
}

TEST(GroupingTest, TheSecondGroupingContinuesTheTrigger) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto first = pipeline | "Events" >> ForEarlyAndLate() | "Tens" >> TensLate().Triggering(EarlyAndLate())
                         | "Sum" >> CombinePerKey(Sum<int64_t>());
      EXPECT_EQ(first.windowing().trigger,
                Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(1)).WithLate(Trigger::AfterCount(1)));
      first | "All" >> Map([](const Event& sum) { return Event{"all", sum.value}; })
            | "Again" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    // 1 + 2 early; 3 and 9 on time, each a pane of its own before the watermark that brings the empty on-time pane; 4 late.
    EXPECT_THAT(sums.values().size(), 5u);
    int64_t total = 0;
    for (const Event& sum : sums.values()) total += sum.value;
    EXPECT_EQ(total, 19);
    EXPECT_THAT(Lines(sums), testing::Contains("all 0 {3} early 0/-1 first"));
    EXPECT_THAT(Lines(sums), testing::Contains("all 0 {0} on time 3/0"));
    EXPECT_THAT(Lines(sums), testing::Contains("all 0 {4} late 4/1"));
  });
}

TEST(GroupingTest, WhatIsDroppedAsLateIsCounted) {
  for (const size_t batch_size : {size_t{1}, size_t{1024}}) {
    for (const int workers : {1, 4}) {
      ManualClock clock;
      PipelineOptions options;
      options.clock = &clock;
      options.workers = workers;
      options.batch_size = batch_size;
      options.deterministic_seed = 7;
      Pipeline pipeline(options);
      Collector<Event> sums;
      const auto windowed = pipeline | "Events" >> Begin()
                                                       .AddTimestamped({Ev("a", 1, 1)})
                                                       .AdvanceWatermarkTo(At(100))
                                                       .AddTimestamped({Ev("a", 2, 1), Ev("b", 3, 2), Ev("b", 3, 2), Ev("c", 4, 99)})
                                                       .AdvanceWatermarkToInfinity()
                            | "Tens" >> TensLate();
      windowed | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
      windowed | "Group" >> GroupByKey();
      windowed | "Dedup" >> DeduplicatePerWindow();
      const auto job = pipeline.MakeJob();
      ASSERT_TRUE(job.ok()) << job.status();
      ASSERT_TRUE((*job)->Run().ok());
      int found = 0;
      for (const engine::StepSnapshot& step : (*job)->Snapshot().steps) {
        if (step.name != "Sum/Merge" && step.name != "Group" && step.name != "Dedup") continue;
        ++found;
        EXPECT_EQ(step.dropped_late, 3) << step.name;
      }
      EXPECT_EQ(found, 3);
    }
  }
}

TEST(GroupingTest, WhatBeamRefusesToGroupIsRefused) {
  const auto run = [](const WindowInto& windowing, bool combine, bool allow) {
    PipelineOptions options;
    options.deterministic_seed = 1;
    options.allow_unsafe_triggers = allow;
    Pipeline pipeline(options);
    const auto windowed = pipeline | "Events" >> Begin().AdvanceWatermarkToInfinity() | "Window" >> windowing;
    if (combine) {
      windowed | "Step" >> CombinePerKey(Sum<int64_t>());
    } else {
      windowed | "Step" >> GroupByKey();
    }
    return pipeline.Run();
  };
  for (const bool combine : {false, true}) {
    for (const WindowInto& windowing : {WindowInto(GlobalWindows()), Tens().Triggering(Trigger::AfterCount(1)),
                                        TensLate().Triggering(Trigger::AfterWatermark())}) {
      const Status status = run(windowing, combine, false);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr("'Step'"));
      EXPECT_TRUE(run(windowing, combine, true).ok());
    }
    EXPECT_TRUE(run(Tens().Triggering(Trigger::AfterWatermark()), combine, false).ok());
  }
}

// What a firing leaves in place is not written again: the log grows with what comes.
TEST(GroupingTest, AnAccumulatingGroupingLogsWhatIsNew) {
  using Grouping = engine::GroupingOperator<engine::GroupValues<std::string, int64_t>>;
  model::WindowingStrategy strategy;
  strategy.trigger = Trigger::Repeatedly(Trigger::AfterCount(1));
  strategy.accumulation_mode = AccumulationMode::kAccumulating;
  engine::JobContext job({});
  Grouping grouping(strategy, {});
  ASSERT_TRUE(grouping.Open({&job, {}, "Group"}, 1).ok());
  std::vector<engine::EpochRecords> log(1000);
  for (size_t i = 0; i < log.size(); ++i) {
    auto batch = std::make_unique<engine::TypedBatch<Event>>();
    batch->Append({"key", 7}, At(1), Window::Global(), PaneInfo::NoFiring());
    batch->hashes.push_back(model::HashKey(std::string("key")));
    ASSERT_TRUE(grouping.Process(0, std::move(batch)).ok());
    ASSERT_TRUE(grouping.OnMarker(i + 1, &log[i]).ok());
    EXPECT_LT(log[i].size_bytes(), 100u);
  }
  // All of it is there again.
  Grouping restored(strategy, {});
  ASSERT_TRUE(restored.Open({&job, {}, "Group"}, 1).ok());
  const uint32_t slice = model::HashKey(std::string("key")).slice();
  for (const engine::EpochRecords& records : log) {
    engine::RecordReader reader(records.bytes());
    engine::RecordView record;
    while (reader.Next(&record)) ASSERT_TRUE(restored.Restore(slice, record.replaces, record.payload).ok());
  }
  engine::EpochRecords before, after;
  ASSERT_TRUE(grouping.Rewrite(slice, &before).ok());
  ASSERT_TRUE(restored.Rewrite(slice, &after).ok());
  EXPECT_EQ(after.bytes(), before.bytes());
}

}  // namespace
}  // namespace hornbeam
