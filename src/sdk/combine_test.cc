// Combining ahead of the exchange changes nothing; the first of each key in its window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// Adds nothing to how a trigger decides, but cannot be lifted above: it counts.
Trigger Unliftable(const Trigger& trigger) { return trigger.OrFinally(Trigger::AfterCount(1'000'000)); }

template <typename V>
std::vector<std::tuple<std::string, V, int64_t, PaneInfo>> Panes(const Collector<KV<std::string, V>>& collector) {
  std::vector<std::tuple<std::string, V, int64_t, PaneInfo>> panes;
  for (const auto& e : collector.elements()) panes.emplace_back(e.value.key, e.value.value, e.window.start.us, e.pane);
  return panes;
}

TEST(CombineTest, LiftedEqualsUnlifted) {
  TestStream<Event> events = TestStream<Event>().AdvanceWatermarkTo(At(0));
  Rng rng(5);
  for (int step = 1; step <= 8; ++step) {
    std::vector<TimestampedValue<Event>> batch;
    for (int i = 0; i < 30; ++i) {
      batch.push_back({{absl::StrCat("k", rng.Below(5)), static_cast<int64_t>(rng.Below(100))},
                       At(static_cast<int64_t>(rng.Below(40)))});
    }
    events = events.AddTimestamped(batch).AdvanceWatermarkTo(At(step * 5));
  }
  events = events.AdvanceWatermarkToInfinity();
  for (const bool accumulating : {false, true}) {
    for (const Trigger& trigger :
         {Trigger::Repeatedly(Trigger::AfterWatermark()), Trigger::AfterWatermark().WithLate(Trigger::AfterCount(2))}) {
      ForEachMode(2, [&](const TestMode& mode) {
        SCOPED_TRACE(ToString(mode));
        Collector<Event> lifted, unlifted;
        const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
          pipeline.options().allow_unsafe_triggers = true;  // for Unliftable
          WindowInto windowing = WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(12)).Triggering(trigger);
          if (accumulating) windowing = windowing.AccumulatingFiredPanes();
          const auto read = pipeline | "Events" >> events;
          read | "A" >> windowing | "Lifted" >> CombinePerKey(Sum<int64_t>()) | "CollectLifted" >> Collect(&lifted);
          read | "B" >> windowing.Triggering(Unliftable(trigger)) | "Unlifted" >> CombinePerKey(Sum<int64_t>())
               | "CollectUnlifted" >> Collect(&unlifted);
        });
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_GT(lifted.elements().size(), 15u);
        EXPECT_THAT(Panes(lifted), UnorderedElementsAreArray(Panes(unlifted)));
      });
    }
  }
}

TEST(CombineTest, TheUsualFunctions) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> count, least, greatest;
    Collector<KV<std::string, double>> mean;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto events =
          pipeline | "Create" >> Create<Event>(std::vector<Event>{{"a", 4}, {"b", -7}, {"a", 2}, {"a", 3}});
      events | "Count" >> CombinePerKey(Count<int64_t>()) | "C" >> Collect(&count);
      events | "Min" >> CombinePerKey(Min<int64_t>()) | "L" >> Collect(&least);
      events | "Max" >> CombinePerKey(Max<int64_t>()) | "G" >> Collect(&greatest);
      events | "Mean" >> CombinePerKey(Mean<int64_t>()) | "M" >> Collect(&mean);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(count.values(), UnorderedElementsAre(Event{"a", 3}, Event{"b", 1}));
    EXPECT_THAT(least.values(), UnorderedElementsAre(Event{"a", 2}, Event{"b", -7}));
    EXPECT_THAT(greatest.values(), UnorderedElementsAre(Event{"a", 4}, Event{"b", -7}));
    EXPECT_THAT(mean.values(), UnorderedElementsAre(KV<std::string, double>{"a", 3.0}, KV<std::string, double>{"b", -7.0}));
  });
}

TEST(DeduplicateTest, FirstOfEachKeyInItsWindowAlsoAcrossRestarts) {
  ForEachMode(4, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> firsts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> TestStream<Event>()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({{{"a", 1}, At(1)}, {{"a", 2}, At(9)}, {{"b", 3}, At(3)}, {{"a", 4}, At(11)}})
                                 .AddTimestamped({{{"a", 5}, At(2)}, {{"b", 6}, At(12)}})
                                 .AdvanceWatermarkTo(At(15))
                                 .AddTimestamped({{{"a", 7}, At(1)}, {{"c", 8}, At(4)}, {{"c", 9}, At(5)}})  // late, not too late
                                 .AdvanceWatermarkTo(At(20))
                                 .AddTimestamped({{{"a", 10}, At(1)}, {{"d", 11}, At(1)}, {{"a", 12}, At(13)}})  // window 0 is gone
                                 .AdvanceWatermarkToInfinity()
               | "Tens" >> WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(10))
               | "Firsts" >> DeduplicatePerWindow() | "Collect" >> Collect(&firsts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(firsts.values(),
                UnorderedElementsAre(Event{"a", 1}, Event{"b", 3}, Event{"a", 4}, Event{"b", 6}, Event{"c", 8}));
    for (const auto& e : firsts.elements()) EXPECT_EQ(e.window.end, At(e.timestamp < At(10) ? 10 : 20));
  });
}

}  // namespace
}  // namespace hornbeam
