// Combines over everything, and the aggregations whose types follow from their input.
#include "hornbeam/transforms/aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/hot_key_fanout.h"

namespace hornbeam {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;
using Event = KV<std::string, int64_t>;
using Ranked = KV<std::string, std::vector<int64_t>>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TEST(CombineGloballyTest, OneValueOfEverything) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> sum, count, least;
    Collector<double> mean;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto numbers = pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{5, 1, 6});
      numbers | "Sum" >> CombineGlobally(Sum<int64_t>()) | "S" >> Collect(&sum);
      numbers | "Count" >> CountGlobally() | "C" >> Collect(&count);
      numbers | "Mean" >> MeanGlobally() | "M" >> Collect(&mean);
      numbers | "Min" >> MinGlobally() | "L" >> Collect(&least);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(sum.values(), ElementsAre(12));
    EXPECT_THAT(count.values(), ElementsAre(3));
    EXPECT_THAT(mean.values(), ElementsAre(4.0));
    EXPECT_THAT(least.values(), ElementsAre(1));
  });
}

TEST(CombineGloballyTest, OfNothingTheDefaultUnlessItIsNotWanted) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> sum, none;
    Collector<double> mean;
    Collector<std::vector<int64_t>> top;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto nothing = pipeline | "Nothing" >> Create<int64_t>(std::vector<int64_t>{});
      nothing | "Sum" >> SumGlobally() | "S" >> Collect(&sum);
      nothing | "Mean" >> MeanGlobally() | "M" >> Collect(&mean);
      nothing | "Top" >> TopLargest(2) | "T" >> Collect(&top);
      nothing | "None" >> SumGlobally().WithoutDefaults() | "N" >> Collect(&none);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(sum.values(), ElementsAre(0));
    ASSERT_EQ(mean.values().size(), 1u);
    EXPECT_TRUE(std::isnan(mean.values()[0]));
    EXPECT_THAT(top.values(), ElementsAre(std::vector<int64_t>{}));
    EXPECT_THAT(none.values(), testing::IsEmpty());
  });
}

TEST(CombineGloballyTest, InWindowsTheDefaultHasToBeGivenUp) {
  Collector<int64_t> sums;
  const auto run = [&](bool with_default) {
    return RunInMode({}, [&](Pipeline& pipeline) {
      const auto events = pipeline | "Numbers" >> Create<int64_t>({{1, At(1)}, {2, At(2)}, {4, At(11)}}) |
                          "Window" >> WindowInto(FixedWindows(Seconds(10)));
      const auto sum = with_default ? SumGlobally() : SumGlobally().WithoutDefaults();
      events | "Sum" >> sum | "Collect" >> Collect(&sums);
    });
  };
  EXPECT_THAT(run(true).message(), HasSubstr("'Sum' cannot give a default for windows without elements"));
  ASSERT_TRUE(run(false).ok());
  EXPECT_THAT(sums.values(), UnorderedElementsAre(3, 4));
}

TEST(AggregateTest, TopHasTheBestFirst) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Ranked> largest, smallest, nearest;
    Collector<std::vector<int64_t>> all;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      std::vector<Event> values;
      for (int64_t n : {7, 3, 9, 1, 5, 9}) values.push_back({"a", n});
      values.push_back({"b", 2});
      const auto events = pipeline | "Events" >> Create<Event>(values);
      events | "Largest" >> TopLargestPerKey(3) | "L" >> Collect(&largest);
      events | "Smallest" >> TopSmallestPerKey(2) | "S" >> Collect(&smallest);
      events | "NearSix" >> TopOfPerKey(2, [](int64_t a, int64_t b) { return std::abs(a - 6) > std::abs(b - 6); }) |
          "N" >> Collect(&nearest);
      events | "Values" >> Values() | "Top" >> TopLargest(2) | "A" >> Collect(&all);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(largest.values(), UnorderedElementsAre(Ranked{"a", {9, 9, 7}}, Ranked{"b", {2}}));
    EXPECT_THAT(smallest.values(), UnorderedElementsAre(Ranked{"a", {1, 3}}, Ranked{"b", {2}}));
    ASSERT_EQ(nearest.values().size(), 2u);
    for (const Ranked& near : nearest.values()) {
      EXPECT_THAT(near.value, near.key == "a" ? testing::Matcher<std::vector<int64_t>>(UnorderedElementsAre(7, 5))
                                              : testing::Matcher<std::vector<int64_t>>(ElementsAre(2)));
    }
    EXPECT_THAT(all.values(), ElementsAre(std::vector<int64_t>{9, 9}));
  });
}

TEST(AggregateTest, TopOfNoneIsEmpty) {
  const TopFn<int64_t, std::less<int64_t>> none(0);
  auto top = none.CreateAccumulator();
  none.AddInput(top, 1);
  EXPECT_THAT(none.ExtractOutput(top), testing::IsEmpty());
}

TEST(AggregateTest, CountPerElementAndDistinct) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> counts;
    Collector<std::string> distinct, initials;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto words = pipeline | "Words" >> Create<std::string>({"ab", "b", "ab", "ac", "ab"});
      words | "Count" >> CountPerElement() | "C" >> Collect(&counts);
      words | "Distinct" >> Distinct() | "D" >> Collect(&distinct);
      words | "Initials" >> DistinctBy([](const std::string& word) { return word.substr(0, 1); }) | "I" >> Collect(&initials);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Event{"ab", 3}, Event{"b", 1}, Event{"ac", 1}));
    EXPECT_THAT(distinct.values(), UnorderedElementsAre("ab", "b", "ac"));
    EXPECT_THAT(initials.values(), UnorderedElementsAre("ab", "b"));
  });
}

TEST(AggregateTest, DistinctIsByWindow) {
  Collector<std::string> distinct;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Words" >> Create<std::string>({{"a", At(1)}, {"a", At(2)}, {"a", At(11)}}) |
        "Window" >> WindowInto(FixedWindows(Seconds(10))) | "Distinct" >> Distinct() | "D" >> Collect(&distinct);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(distinct.values(), ElementsAre("a", "a"));
}

TEST(AggregateTest, LatestIsByTimestampNotByOrder) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> latest;
    Collector<std::optional<std::string>> of_all, of_nothing;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto events = pipeline | "Events" >> Create<Event>({{{"a", 1}, At(5)}, {{"a", 2}, At(9)}, {{"a", 3}, At(7)}, {{"b", 4}, At(1)}});
      events | "Latest" >> LatestPerKey() | "L" >> Collect(&latest);
      events | "Keys" >> Keys() | "All" >> LatestGlobally() | "A" >> Collect(&of_all);
      pipeline | "Nothing" >> Create<std::string>(std::vector<std::string>{}) | "None" >> LatestGlobally() | "N" >> Collect(&of_nothing);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(latest.values(), UnorderedElementsAre(Event{"a", 2}, Event{"b", 4}));
    EXPECT_THAT(of_all.values(), ElementsAre(std::optional<std::string>("a")));
    EXPECT_THAT(of_nothing.values(), ElementsAre(std::optional<std::string>()));
  });
}

TEST(AggregateTest, SamplesAreOfTheSizeAndFromTheElements) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::vector<int64_t>> five, more;
    Collector<int64_t> any;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      std::vector<int64_t> values;
      for (int64_t n = 0; n < 50; ++n) values.push_back(n);
      const auto numbers = pipeline | "Numbers" >> Create<int64_t>(values);
      numbers | "Five" >> SampleGlobally(5) | "F" >> Collect(&five);
      numbers | "More" >> SampleGlobally(80) | "M" >> Collect(&more);
      numbers | "Any" >> SampleAny(7) | "A" >> Collect(&any);
    });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(five.values().size(), 1u);
    const std::vector<int64_t> chosen = five.values()[0];
    EXPECT_EQ(chosen.size(), 5u);
    EXPECT_EQ(std::set<int64_t>(chosen.begin(), chosen.end()).size(), 5u);
    EXPECT_EQ(more.values()[0].size(), 50u);
    EXPECT_EQ(any.values().size(), 7u);
  });
}

// Each of ten values in half of the samples of five, within five standard deviations.
TEST(AggregateTest, EveryElementIsAsLikelyInASample) {
  std::map<int64_t, int> times;
  constexpr int kSamples = 4000;
  for (int sample = 0; sample < kSamples; ++sample) {
    const SampleFn<int64_t> fn(5);
    auto left = fn.CreateAccumulator(), right = fn.CreateAccumulator();
    for (int64_t n = 0; n < 10; ++n) fn.AddInput(n < 3 ? left : right, sample * 1000 + n);
    fn.MergeAccumulators(left, right);
    for (const int64_t n : fn.ExtractOutput(left)) ++times[n % 1000];
  }
  for (int64_t n = 0; n < 10; ++n) EXPECT_NEAR(times[n], kSamples / 2, 5 * std::sqrt(kSamples * 0.25)) << n;
}

TEST(HotKeyFanoutTest, SessionsAreRefused) {
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Events" >> Create<Event>(std::vector<Event>{{"a", 1}}) | "Window" >> WindowInto(Sessions(Seconds(3))) |
        "Fanned" >> CombinePerKeyWithHotKeyFanout(Sum<int64_t>(), [](const std::string&) { return 3; });
  });
  EXPECT_THAT(status.message(), HasSubstr("'Fanned' cannot spread a key whose windows merge"));
}

// With a fan-out and without, under triggers and windows of every kind that matter, everything is counted once.
TEST(HotKeyFanoutTest, TheTotalsAreTheSame) {
  const std::vector<std::pair<std::string, WindowInto>> windowings = {
      {"fixed", WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(100)).AccumulatingFiredPanes()},
      {"sliding", WindowInto(SlidingWindows(Seconds(20), Seconds(10)))},
      {"counting", WindowInto(FixedWindows(Seconds(10))).Triggering(Trigger::Repeatedly(Trigger::AfterCount(2)))}};
  for (const auto& [name, windowing] : windowings) {
    ForEachMode(1, [&, name = name, windowing = windowing](const TestMode& mode) {
      SCOPED_TRACE(absl::StrCat(name, ", ", ToString(mode)));
      Collector<Event> plain, fanned;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        pipeline.options().allow_unsafe_triggers = true;
        TestStream<Event> stream = TestStream<Event>().AdvanceWatermarkTo(At(0));
        for (int64_t i = 0; i < 40; ++i) {
          stream = stream.AddTimestamped({{{i % 4 == 0 ? "cold" : "hot", 1}, At(i)}});
          if (i % 10 == 9) stream = stream.AdvanceWatermarkTo(At(i));
        }
        const auto events = pipeline | "Events" >> stream.AdvanceWatermarkToInfinity() | "Window" >> windowing;
        events | "Plain" >> CombinePerKey(Sum<int64_t>()) | "P" >> Collect(&plain);
        events | "Fanned" >> CombinePerKeyWithHotKeyFanout(Sum<int64_t>(), [](const std::string& key) { return key == "hot" ? 3 : 1; }) |
            "F" >> Collect(&fanned);
      });
      ASSERT_TRUE(status.ok()) << status;
      const bool accumulating = name == "fixed";
      const auto totals = [&](const Collector<Event>& collector) {
        std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> all;
        for (const auto& c : collector.elements()) {
          int64_t& total = all[{c.value.key, c.window.start.us, c.window.end.us}];
          total = accumulating ? std::max(total, c.value.value) : total + c.value.value;
        }
        return all;
      };
      EXPECT_GT(totals(plain).size(), 5u);
      EXPECT_EQ(totals(fanned), totals(plain));
    });
  }
}

}  // namespace
}  // namespace hornbeam
