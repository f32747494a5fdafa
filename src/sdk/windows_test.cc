// Every kind of window, with the panes that come out, in every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::UnorderedElementsAreArray;
using Event = KV<std::string, int64_t>;
using Stream = TestStream<Event>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
int64_t SecondsOf(EventTime t) { return t.us / 1'000'000; }

TimestampedValue<Event> E(const std::string& key, int64_t value, int64_t s) { return {{key, value}, At(s)}; }

// "a=3 [10,20) @19 on_time 0/0 first last": value, window and timestamp in seconds (of an end, rounded down), timing, index and
// non-speculative index.
std::string Describe(const Collected<Event>& c) {
  const char* const timings[] = {"early", "on_time", "late", "unknown"};
  return absl::StrCat(c.value.key, "=", c.value.value, " [", SecondsOf(c.window.start), ",", SecondsOf(c.window.end), ") @",
                      SecondsOf(c.timestamp), " ", timings[static_cast<int>(c.pane.timing)], " ", c.pane.index, "/",
                      c.pane.on_time_index, c.pane.is_first ? " first" : "", c.pane.is_last ? " last" : "");
}

// Sums per key and window of what the stream gives, in every mode; as CombinePerKey has them and as GroupByKey does.
void ExpectPanes(const Stream& stream, const WindowInto& windows, const std::vector<std::string>& expected) {
  for (const bool combine : {true, false}) {
    ForEachMode(2, [&](const TestMode& mode) {
      SCOPED_TRACE(absl::StrCat(combine ? "CombinePerKey, " : "GroupByKey, ", ToString(mode)));
      Collector<Event> sums;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        pipeline.options().allow_unsafe_triggers = true;
        const auto events = pipeline | "Events" >> stream.AdvanceWatermarkToInfinity() | "Window" >> windows;
        if (combine) {
          events | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&sums);
        } else {
          events | "Group" >> GroupByKey() | "Add" >> Map([](const KV<std::string, std::vector<int64_t>>& group) {
            int64_t sum = 0;
            for (const int64_t value : group.value) sum += value;
            return Event{group.key, sum};
          }) | "Collect" >> Collect(&sums);
        }
      });
      ASSERT_TRUE(status.ok()) << status;
      std::vector<std::string> panes;
      for (const Collected<Event>& c : sums.elements()) panes.push_back(Describe(c));
      EXPECT_THAT(panes, UnorderedElementsAreArray(expected));
    });
  }
}

Stream InOrder() { return Stream().AdvanceWatermarkTo(At(0)); }

TEST(WindowsTest, AnElementLiesInEachSlidingWindow) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0), E("a", 2, 7), E("b", 4, 12)}), WindowInto(SlidingWindows(Seconds(10), Seconds(5))),
              {"a=1 [-5,5) @4 on_time 0/0 first last", "a=3 [0,10) @9 on_time 0/0 first last", "a=2 [5,15) @14 on_time 0/0 first last",
               "b=4 [5,15) @14 on_time 0/0 first last", "b=4 [10,20) @19 on_time 0/0 first last"});
}

TEST(WindowsTest, SlidingWindowsMayOverlapUnevenlyAndHaveGaps) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 4), E("a", 2, 6)}), WindowInto(SlidingWindows(Seconds(5), Seconds(3), Seconds(1))),
              {"a=1 [1,6) @5 on_time 0/0 first last", "a=3 [4,9) @8 on_time 0/0 first last"});
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 1), E("a", 2, 5), E("a", 4, 12)}), WindowInto(SlidingWindows(Seconds(3), Seconds(10))),
              {"a=1 [0,3) @2 on_time 0/0 first last", "a=4 [10,13) @12 on_time 0/0 first last"});
}

TEST(WindowsTest, AnElementIsLateForTheSlidingWindowsThatAreOverAndInTimeForTheOthers) {
  const Stream stream = InOrder().AddTimestamped({E("a", 1, 8)}).AdvanceWatermarkTo(At(12)).AddTimestamped({E("a", 2, 9)});
  ExpectPanes(stream, WindowInto(SlidingWindows(Seconds(10), Seconds(5))),
              {"a=1 [0,10) @9 on_time 0/0 first last", "a=3 [5,15) @14 on_time 0/0 first last"});
  ExpectPanes(stream, WindowInto(SlidingWindows(Seconds(10), Seconds(5))).WithAllowedLateness(Seconds(100)).AccumulatingFiredPanes(),
              {"a=1 [0,10) @9 on_time 0/0 first", "a=3 [0,10) @9 late 1/1", "a=3 [5,15) @14 on_time 0/0 first"});
}

TEST(WindowsTest, SlidingWindowsFireEarly) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 6)}).AddTimestamped({E("a", 2, 7)}),
              WindowInto(SlidingWindows(Seconds(10), Seconds(5)))
                  .Triggering(Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(1)))
                  .AccumulatingFiredPanes(),
              {"a=1 [0,10) @9 early 0/-1 first", "a=3 [0,10) @9 early 1/-1", "a=3 [0,10) @9 on_time 2/0 last",
               "a=1 [5,15) @14 early 0/-1 first", "a=3 [5,15) @14 early 1/-1", "a=3 [5,15) @14 on_time 2/0 last"});
}

TEST(WindowsTest, SessionsEndWhereNothingComesForAGap) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0), E("a", 2, 8), E("a", 4, 18), E("b", 8, 1)}), WindowInto(Sessions(Seconds(10))),
              {"a=3 [0,18) @17 on_time 0/0 first last", "a=4 [18,28) @27 on_time 0/0 first last", "b=8 [1,11) @10 on_time 0/0 first last"});
}

TEST(WindowsTest, AnElementBetweenThemMakesTwoSessionsOne) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0)}).AddTimestamped({E("a", 2, 15)}).AddTimestamped({E("a", 4, 7)}),
              WindowInto(Sessions(Seconds(10))), {"a=7 [0,25) @24 on_time 0/0 first last"});
}

TEST(WindowsTest, ALateElementExtendsASessionThatIsOver) {
  // By itself [8, 18) has not expired; with [0, 10) it is [0, 18), which has no pane yet.
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0)}).AdvanceWatermarkTo(At(12)).AddTimestamped({E("a", 2, 8)}),
              WindowInto(Sessions(Seconds(10))).WithAllowedLateness(Seconds(100)).AccumulatingFiredPanes(),
              {"a=1 [0,10) @9 on_time 0/0 first", "a=3 [0,18) @17 on_time 0/0 first"});
  // Without lateness the first session is gone by then.
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0)}).AdvanceWatermarkTo(At(12)).AddTimestamped({E("a", 2, 8)}),
              WindowInto(Sessions(Seconds(10))), {"a=1 [0,10) @9 on_time 0/0 first last", "a=2 [8,18) @17 on_time 0/0 first last"});
}

TEST(WindowsTest, AnElementWhoseOwnSessionHasExpiredIsDropped) {
  // It would lie in [0, 25) with the other, but it is late before it meets it.
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 15)}).AdvanceWatermarkTo(At(16)).AddTimestamped({E("a", 2, 5)}),
              WindowInto(Sessions(Seconds(10))), {"a=1 [15,25) @24 on_time 0/0 first last"});
}

TEST(WindowsTest, CountsOfMergedSessionsAdd) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0)}).AddTimestamped({E("a", 2, 15)}).AddTimestamped({E("a", 4, 7)}),
              WindowInto(Sessions(Seconds(10))).Triggering(Trigger::Repeatedly(Trigger::AfterCount(3))),
              {"a=7 [0,25) @24 early 0/-1 first", "a=0 [0,25) @24 on_time 1/0 last"});
}

TEST(WindowsTest, DeadlinesOfMergedSessionsAreTheFirstOnes) {
  ExpectPanes(InOrder()
                  .AddTimestamped({E("a", 1, 0)})
                  .AdvanceProcessingTime(Seconds(6))
                  .AddTimestamped({E("a", 2, 5)})
                  .AdvanceProcessingTime(Seconds(5))
                  .AddTimestamped({E("a", 4, 6)}),
              WindowInto(Sessions(Seconds(10))).Triggering(Trigger::Repeatedly(Trigger::AfterProcessingTime(Seconds(10)))),
              {"a=3 [0,15) @14 early 0/-1 first", "a=4 [0,16) @15 on_time 0/0 first last"});
}

TEST(WindowsTest, ASessionWhoseTriggerHasFinishedTakesNothingMore) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0)}).AddTimestamped({E("a", 2, 0)}).AddTimestamped({E("a", 4, 5)}),
              WindowInto(Sessions(Seconds(10))).Triggering(Trigger::AfterCount(1)),
              {"a=1 [0,10) @9 early 0/-1 first last", "a=4 [5,15) @14 early 0/-1 first last"});
}

TEST(WindowsTest, SessionsHaveTheTimestampsThatAreAskedFor) {
  const Stream stream = InOrder().AddTimestamped({E("a", 1, 3), E("a", 2, 9), E("a", 4, 6)});
  ExpectPanes(stream, WindowInto(Sessions(Seconds(10))).WithTimestampCombiner(TimestampCombiner::kEarliest),
              {"a=7 [3,19) @3 on_time 0/0 first last"});
  ExpectPanes(stream, WindowInto(Sessions(Seconds(10))).WithTimestampCombiner(TimestampCombiner::kLatest),
              {"a=7 [3,19) @9 on_time 0/0 first last"});
}

TEST(WindowsTest, DaysOfACalendarFollowItsTimeZone) {
  // In New York the 10th of March 2024 has 23 hours: from 05:00 UTC to 04:00 UTC on the next day.
  const int64_t begin = 1710046800, end = begin + 23 * 3600;
  const StatusOr<WindowFn> days = CalendarWindows::Make(CalendarWindows::Unit::kDay, 1, absl::CivilDay(1970, 1, 1), "America/New_York");
  if (!days.ok()) GTEST_SKIP() << days.status();
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, begin), E("a", 2, end - 1), E("a", 4, end)}), WindowInto(*days),
              {absl::StrCat("a=3 [", begin, ",", end, ") @", end - 1, " on_time 0/0 first last"),
               absl::StrCat("a=4 [", end, ",", end + 86400, ") @", end + 86399, " on_time 0/0 first last")});
}

// Windows of a length that the element's number says, merging where they overlap.
class Spans final : public model::CustomWindowFn {
 public:
  explicit Spans(bool merges) : merges_(merges) {}
  std::string Describe() const override { return merges_ ? "merging spans" : "spans"; }
  void Assign(EventTime t, std::vector<Window>* windows) const override {
    windows->push_back({t, t + Seconds(5)});
    windows->push_back({t, t + Seconds(9)});
  }
  bool merges() const override { return merges_; }
  void Merge(const std::vector<Window>& windows, std::vector<MergeResult>* merges) const override {
    WindowFn::Sessions(Seconds(1)).Merge(windows, merges);
  }

 private:
  const bool merges_;
};

TEST(WindowsTest, ACustomFunctionAssignsSeveralWindows) {
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0), E("a", 2, 0), E("a", 4, 7)}), WindowInto(CustomWindows(std::make_shared<Spans>(false))),
              {"a=3 [0,5) @4 on_time 0/0 first last", "a=3 [0,9) @8 on_time 0/0 first last", "a=4 [7,12) @11 on_time 0/0 first last",
               "a=4 [7,16) @15 on_time 0/0 first last"});
}

TEST(WindowsTest, WindowsOfACustomFunctionMerge) {
  // Each element counts twice: it has two windows, and both become the same.
  ExpectPanes(InOrder().AddTimestamped({E("a", 1, 0), E("a", 4, 7)}), WindowInto(CustomWindows(std::make_shared<Spans>(true))),
              {"a=10 [0,16) @15 on_time 0/0 first last"});
}

TEST(WindowsTest, AnElementSaysItsWindows) {
  ForEachMode(1, [&](const TestMode& mode) {
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> InOrder().AddTimestamped({E("a", 3, 0), E("a", 8, 1), E("b", 0, 2)}).AdvanceWatermarkToInfinity()
               | "Window" >> WindowIntoBy<Event>(FixedWindows(Seconds(1)),
                                                 [](const Event& event, EventTime t, std::vector<Window>* windows) {
                                                   if (event.value > 0) windows->push_back({At(0), At(event.value)});
                                                 })
               | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> panes;
    for (const Collected<Event>& c : sums.elements()) panes.push_back(Describe(c));
    EXPECT_THAT(panes, testing::UnorderedElementsAre("a=3 [0,3) @2 on_time 0/0 first last", "a=8 [0,8) @7 on_time 0/0 first last"));
  });
}

// What is grouped has the windows that it was grouped in, and they do not merge again.
TEST(WindowsTest, MergedWindowsStayAsTheyAreBehindTheirGrouping) {
  ForEachMode(1, [&](const TestMode& mode) {
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> InOrder().AddTimestamped({E("a", 1, 0), E("a", 2, 5), E("b", 4, 7)}).AdvanceWatermarkToInfinity()
               | "Window" >> WindowInto(Sessions(Seconds(10))) | "Sum" >> CombinePerKey(Sum<int64_t>())
               | "All" >> Map([](const Event& sum) { return Event{"all", sum.value}; }) | "Again" >> CombinePerKey(Sum<int64_t>())
               | "Collect" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> panes;
    for (const Collected<Event>& c : sums.elements()) panes.push_back(Describe(c));
    EXPECT_THAT(panes, testing::UnorderedElementsAre("all=3 [0,15) @14 on_time 0/0 first last", "all=4 [7,17) @16 on_time 0/0 first last"));
  });
}

// A DoFn that looks at windows sees an element in each; one that does not sees it once.
TEST(WindowsTest, AnElementInSeveralWindowsIsSeenOnceByWhatDoesNotLookAtThem) {
  int64_t plain = 0, looking = 0;
  Collector<Event> seen;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto events = pipeline | "Events" >> InOrder().AddTimestamped({E("a", 1, 0), E("a", 2, 5)}).AdvanceWatermarkToInfinity()
                                 | "Window" >> WindowInto(SlidingWindows(Seconds(10), Seconds(2)))
                                 | "Plain" >> Map([&](const Event& event) {
                                     ++plain;
                                     return event;
                                   });
    events | "Looking" >> Map([&](const Event& event, const ElementContext&) {
      ++looking;
      return event;
    });
    events | "Collect" >> Collect(&seen);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(plain, 2);
  EXPECT_EQ(looking, 10);
  EXPECT_EQ(seen.values().size(), 10u);
}

TEST(WindowsTest, WindowsThatCannotBeAreRefused) {
  const auto message = [](const WindowFn& fn) {
    Pipeline pipeline;
    pipeline | "Create" >> Create<int64_t>(std::vector<int64_t>{1}) | "Window" >> WindowInto(fn);
    return std::string(pipeline.Run().message());
  };
  EXPECT_THAT(message(FixedWindows(Seconds(0))), testing::HasSubstr("'Window': the size of a fixed window must be above zero"));
  EXPECT_THAT(message(SlidingWindows(Seconds(1), Seconds(0))), testing::HasSubstr("the period of sliding windows must be above zero"));
  EXPECT_THAT(message(SlidingWindows(Hours(1000), Seconds(1))), testing::HasSubstr("make the period longer"));
  EXPECT_THAT(message(Sessions(Seconds(-1))), testing::HasSubstr("the gap of sessions must be above zero"));
  EXPECT_THAT(message(FixedWindows(Seconds(5), Seconds(5))), testing::HasSubstr("the offset of windows, 5s, must be at least zero and below 5s"));
  EXPECT_THAT(message(CustomWindows(nullptr)), testing::HasSubstr("a custom window function is missing"));
  EXPECT_FALSE(CalendarWindows::Make(CalendarWindows::Unit::kMonth, 1, absl::CivilDay(1970, 1, 31), "UTC").ok());
  EXPECT_FALSE(CalendarWindows::Make(CalendarWindows::Unit::kDay, 0, absl::CivilDay(1970, 1, 1), "UTC").ok());
  EXPECT_THAT(CalendarWindows::Make(CalendarWindows::Unit::kDay, 1, absl::CivilDay(1970, 1, 1), "Mars/Phobos").status().message(),
              testing::HasSubstr("no time zone 'Mars/Phobos'"));
}

// Many keys over many sliding windows: as many sums as if each element had been put into each of its windows by hand.
TEST(WindowsTest, SlicesAddUpToWhatExplodedElementsDo) {
  Stream stream = InOrder();
  Rng rng(7);
  for (int64_t s = 0; s < 200; ++s) {
    stream = stream.AddTimestamped({E(absl::StrCat("k", rng.Below(12)), s, s - static_cast<int64_t>(rng.Below(25)))});
    if (s % 3 == 0) stream = stream.AdvanceWatermarkTo(At(s - 15));
  }
  ForEachMode(3, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> sliced, exploded;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto events = pipeline | "Events" >> stream.AdvanceWatermarkToInfinity()
                                   | "Window" >> WindowInto(SlidingWindows(Seconds(30), Seconds(7)));
      events | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sliced" >> Collect(&sliced);
      events | "Look" >> Map([](const Event& event, const ElementContext&) { return event; })
             | "SumExploded" >> CombinePerKey(Sum<int64_t>()) | "Exploded" >> Collect(&exploded);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> expected, panes;
    for (const Collected<Event>& c : exploded.elements()) expected.push_back(Describe(c));
    for (const Collected<Event>& c : sliced.elements()) panes.push_back(Describe(c));
    EXPECT_GT(panes.size(), 200u);
    EXPECT_THAT(panes, UnorderedElementsAreArray(expected));
  });
}

}  // namespace
}  // namespace hornbeam
