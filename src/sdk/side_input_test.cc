// Side inputs, in every mode: what an element sees, and that it waits until there is something to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/side_input.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;
using Rate = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// Events of both inputs in one stream, so that their order is known: names that begin with '#' are the side input's.
struct Split {
  PCollection<std::string> main;
  PCollection<Rate> side;
};
Split SplitStream(Pipeline& pipeline, const TestStream<Rate>& stream) {
  const auto events = pipeline | "Events" >> stream.AdvanceWatermarkToInfinity();
  const auto main = events | "Main" >> Filter([](const Rate& e) { return e.key[0] != '#'; }) | "Name" >> Map([](const Rate& e) { return e.key; });
  const auto side = events | "Side" >> Filter([](const Rate& e) { return e.key[0] == '#'; });
  return {main, side};
}
TimestampedValue<Rate> Main(const std::string& name, int64_t s) { return {{name, 0}, At(s)}; }
TimestampedValue<Rate> Side(const std::string& name, int64_t value, int64_t s) { return {{"#" + name, value}, At(s)}; }

std::string Sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return absl::StrJoin(values, "+");
}

// Each main element with the values of the side input that it sees as a list.
void ExpectSeen(const TestStream<Rate>& stream, const WindowInto& main_windows, const WindowInto& side_windows,
                const std::vector<std::string>& expected) {
  ForEachMode(3, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const Split split = SplitStream(pipeline, stream);
      const auto view = split.side | "SideWindow" >> side_windows | "Value" >> Map([](const Rate& e) { return e.value; })
                                   | "View" >> AsList();
      split.main | "MainWindow" >> main_windows
                 | "Look" >> MapWithSideInputs([](const std::string& name, const std::vector<int64_t>& values) {
                     return absl::StrCat(name, ":", Sorted(values));
                   }, view)
                 | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAreArray(expected));
  });
}

TestStream<Rate> InOrder() { return TestStream<Rate>().AdvanceWatermarkTo(At(0)); }
WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

TEST(SideInputTest, AnElementWaitsUntilItsWindowIsThereAndSeesThatWindowAlone) {
  ExpectSeen(InOrder()
                 .AddTimestamped({Main("a", 1), Main("b", 12)})
                 .AddTimestamped({Side("x", 1, 2), Side("y", 2, 3), Side("z", 4, 15)})
                 .AdvanceWatermarkTo(At(11))
                 .AddTimestamped({Main("c", 13)}),
             Tens(), Tens(), {"a:1+2", "b:4", "c:4"});
}

TEST(SideInputTest, AWindowWithoutElementsIsEmptyOnceItIsOver) {
  ExpectSeen(InOrder().AddTimestamped({Main("a", 1), Main("b", 12), Side("x", 1, 2)}), Tens(), Tens(), {"a:1", "b:"});
}

TEST(SideInputTest, TheSideInputMayHaveOtherWindows) {
  ExpectSeen(InOrder().AddTimestamped({Main("a", 1), Main("b", 22), Side("x", 1, 2), Side("y", 2, 25), Side("z", 4, 35)}), Tens(),
             WindowInto(FixedWindows(Seconds(30))), {"a:1+2", "b:1+2"});
  // Of several windows, the latest that holds the last instant.
  ExpectSeen(InOrder().AddTimestamped({Main("a", 1), Side("x", 1, 2), Side("y", 2, 6), Side("z", 4, 12)}), Tens(),
             WindowInto(SlidingWindows(Seconds(10), Seconds(5))), {"a:2+4"});
}

TEST(SideInputTest, TheNewestPaneCounts) {
  ExpectSeen(InOrder()
                 .AddTimestamped({Main("a", 1)})
                 .AddTimestamped({Side("x", 1, 2)})
                 .AddTimestamped({Main("b", 1)})
                 .AddTimestamped({Side("y", 2, 3)})
                 .AddTimestamped({Main("c", 1)}),
             WindowInto(GlobalWindows()),
             WindowInto(GlobalWindows()).Triggering(Trigger::Repeatedly(Trigger::AfterCount(1))).AccumulatingFiredPanes(),
             {"a:1", "b:1", "c:1+2"});
}

// Each pane has one element more than the last, and each is seen; over crashes a view is put together of what was logged of it.
TEST(SideInputTest, APaneThatHasMoreThanTheLastOne) {
  TestStream<Rate> stream = InOrder();
  std::vector<std::string> lists, maps;
  std::vector<int64_t> so_far;
  for (int64_t i = 1; i <= 25; ++i) {
    stream = stream.AddTimestamped({Side(absl::StrCat("x", i), i, 2)}).AddTimestamped({Main(absl::StrCat("m", i), 1)});
    so_far.push_back(i);
    lists.push_back(absl::StrCat("m", i, ":", Sorted(so_far)));
    maps.push_back(absl::StrCat("m", i, ":", i, " of ", i));
  }
  const WindowInto growing =
      WindowInto(GlobalWindows()).Triggering(Trigger::Repeatedly(Trigger::AfterCount(1))).AccumulatingFiredPanes();
  ExpectSeen(stream, WindowInto(GlobalWindows()), growing, lists);
  ForEachMode(3, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const Split split = SplitStream(pipeline, stream);
      const auto view = split.side | "Growing" >> growing | "View" >> AsMap();
      split.main | "Look" >> MapWithSideInputs([](const std::string& name, const auto& values) {
        return absl::StrCat(name, ":", values.at(absl::StrCat("#x", name.substr(1))), " of ", values.size());
      }, view) | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAreArray(maps));
  });
}

TEST(SideInputTest, WhatWaitsHoldsTheWatermarkAndIsInTimeWhenItComesOut) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, int64_t>> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto view = pipeline | "Side" >> TestStream<int64_t>().AddTimestamped({{7, At(5)}}).AdvanceWatermarkToInfinity()
                                 | "SideWindow" >> Tens() | "View" >> AsSingleton();
      pipeline | "Main" >> Create<std::string>({{"a", At(1)}, {"b", At(3)}, {"a", At(9)}}) | "MainWindow" >> Tens()
               | "Look" >> MapWithSideInputs([](const std::string& name, int64_t value) { return KV<std::string, int64_t>{name, value}; }, view)
               | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Rate{"a", 14}, Rate{"b", 7}));
    for (const auto& count : counts.elements()) EXPECT_EQ(count.pane.timing, PaneTiming::kOnTime);
  });
}

TEST(SideInputTest, MapsMultimapsAndDefaults) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto rates = pipeline | "Rates" >> Create<Rate>(std::vector<Rate>{{"EUR", 2}, {"USD", 3}}) | "RatesView" >> AsMap();
      const auto names = pipeline | "Names" >> Create<Rate>(std::vector<Rate>{{"EUR", 5}, {"EUR", 6}}) | "NamesView" >> AsMultimap();
      const auto bonus = pipeline | "Bonus" >> Create<int64_t>(std::vector<int64_t>{}) | "BonusView" >> AsSingletonOr<int64_t>(100);
      pipeline | "Orders" >> Create<Rate>(std::vector<Rate>{{"EUR", 10}, {"USD", 20}})
               | "Convert" >> ParDoWithSideInputs<std::string>(
                                  [](const Rate& order, const auto& rate, const auto& of, int64_t extra, OutputReceiver<std::string>& out) {
                                    const auto at = of.find(order.key);
                                    out.Output(absl::StrCat(order.key, "=", order.value * rate.at(order.key) + extra, "/",
                                                            at == of.end() ? 0 : at->second.size()));
                                  },
                                  rates, names, bonus)
               | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("EUR=120/2", "USD=160/0"));
  });
}

TEST(SideInputTest, ASingletonThatIsNoneFailsTheElement) {
  Collector<FailedElement> failures;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto view = pipeline | "Side" >> Create<int64_t>(std::vector<int64_t>{1, 2}) | "View" >> AsSingleton();
    const auto looked = pipeline | "Main" >> Create<std::string>(std::vector<std::string>{"a"})
                        | "Look" >> ParDoWithSideInputs<int64_t>(
                                        [](const std::string&, int64_t value, OutputReceiver<int64_t>& out) { out.Output(value); }, view)
                                        .WithFailures();
    looked.failures() | "Failures" >> Collect(&failures);
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(failures.values().size(), 1u);
  EXPECT_THAT(failures.values()[0].error, HasSubstr("the side input has 2 elements in this window"));
}

// Elements go on waiting after a restart, also with another number of workers, and views are there again.
TEST(SideInputTest, ManyWindowsOverRestarts) {
  TestStream<Rate> stream = InOrder();
  std::vector<std::string> expected;
  for (int64_t s = 0; s < 120; ++s) {
    stream = stream.AddTimestamped({Main(absl::StrCat("m", s), s)});
    if (s >= 7) stream = stream.AddTimestamped({Side("x", s, s - 7)});
    if (s % 4 == 0) stream = stream.AdvanceWatermarkTo(At(s - 9));
    std::vector<int64_t> values;
    for (int64_t v = s / 10 * 10 + 7; v < s / 10 * 10 + 17 && v < 120; ++v) values.push_back(v);
    expected.push_back(absl::StrCat("m", s, ":", Sorted(values)));
  }
  ExpectSeen(stream, Tens(), Tens(), expected);
}

}  // namespace
}  // namespace hornbeam
