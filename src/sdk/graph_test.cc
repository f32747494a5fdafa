// Graphs of every shape: flattened, fanned out, diamonds, several sinks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::UnorderedElementsAre;
using Event = KV<std::string, int64_t>;

Create<Event> Some(std::vector<Event> events) { return Create<Event>(std::move(events)); }
auto Plus(int64_t n) {
  return Map([n](const Event& event) { return Event{event.key, event.value + n}; });
}

TEST(GraphTest, FlattenOfSourcesBranchesAndNested) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> flat, sums, nested_sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto left = pipeline | "Left" >> Some({{"a", 1}, {"b", 2}});
      const auto right = pipeline | "Right" >> Some({{"a", 10}});
      const auto none = pipeline | "None" >> Some({});
      const auto both = Flatten("Both", std::vector{left, right, none});
      both | "Flat" >> Collect(&flat);
      both | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
      // Branches of one source, and a Flatten in a Flatten, that only a grouping reads.
      const auto branches = Flatten("Branches", std::vector{left, left | "Plus" >> Plus(100)});
      const auto nested = Flatten("Nested", std::vector{branches, right, branches});
      nested | "NestedSum" >> CombinePerKey(Count<int64_t>()) | "NestedSums" >> Collect(&nested_sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(flat.values(), UnorderedElementsAre(Event{"a", 1}, Event{"b", 2}, Event{"a", 10}));
    EXPECT_THAT(sums.values(), UnorderedElementsAre(Event{"a", 11}, Event{"b", 2}));
    EXPECT_THAT(nested_sums.values(), UnorderedElementsAre(Event{"a", 5}, Event{"b", 4}));
  });
}

TEST(GraphTest, AFlattenWaitsForTheSlowestWatermark) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto tens = WindowInto(FixedWindows(Seconds(10)));
      const auto fast = pipeline | "Fast" >> Create<Event>(std::vector<TimestampedValue<Event>>{{{"a", 1}, EventTime::FromSeconds(1)}})
                        | "FastTens" >> tens;
      const auto slow = pipeline | "Slow" >> TestStream<Event>()
                                                 .AdvanceWatermarkTo(EventTime::FromSeconds(0))
                                                 .AddTimestamped({{{"a", 2}, EventTime::FromSeconds(2)}})
                                                 .AdvanceWatermarkTo(EventTime::FromSeconds(9))
                                                 .AddTimestamped({{{"a", 3}, EventTime::FromSeconds(3)}})
                                                 .AdvanceWatermarkToInfinity()
                        | "SlowTens" >> tens;
      Flatten("Both", std::vector{fast, slow}) | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(sums.values(), UnorderedElementsAre(Event{"a", 6}));
  });
}

TEST(GraphTest, DiamondsOutputsAndSinks) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> even, odd, all, joined, twice;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const OutputTag<Event> kEven{"even"}, kOdd{"odd"};
      const auto split = pipeline | "Source" >> Some({{"a", 1}, {"b", 2}, {"a", 3}, {"c", 4}})
                         | "Split" >> ParDo([](const Event& event, OutputReceiver<Event>& even, OutputReceiver<Event>& odd) {
                             (event.value % 2 == 0 ? even : odd).Output(event);
                           }).WithOutputs(kEven, kOdd);
      split.Get(kEven) | "Even" >> Collect(&even);
      split.Get(kEven) | "EvenTwice" >> Collect(&twice);  // one output, two readers: copied
      split.Get(kOdd) | "Odd" >> Collect(&odd);
      const auto together = Flatten("Together", std::vector{split.Get(kEven) | "Up" >> Plus(100), split.Get(kOdd)});
      together | "All" >> Collect(&all);
      // Through two groupings and together again.
      const auto sums = together | "Sum" >> CombinePerKey(Sum<int64_t>());
      const auto counts = split.Get(kOdd) | "Count" >> CombinePerKey(Count<int64_t>());
      Flatten("Join", std::vector{sums, counts}) | "Max" >> CombinePerKey(Max<int64_t>()) | "Joined" >> Collect(&joined);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(even.values(), UnorderedElementsAre(Event{"b", 2}, Event{"c", 4}));
    EXPECT_EQ(twice.values(), even.values());
    EXPECT_THAT(odd.values(), UnorderedElementsAre(Event{"a", 1}, Event{"a", 3}));
    EXPECT_THAT(all.values(), UnorderedElementsAre(Event{"b", 102}, Event{"c", 104}, Event{"a", 1}, Event{"a", 3}));
    EXPECT_THAT(joined.values(), UnorderedElementsAre(Event{"a", 4}, Event{"b", 102}, Event{"c", 104}));
  });
}

TEST(GraphTest, AnOutputThatNobodyReadsIsDropped) {
  ForEachMode(1, [](const TestMode& mode) {
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto events = pipeline | "Source" >> Some({{"a", 1}});
      events | "Sum" >> CombinePerKey(Sum<int64_t>());
      Flatten("Unread", std::vector{events, events});
    });
    EXPECT_TRUE(status.ok()) << status;
  });
}

TEST(GraphTest, AMistakeIsToldByRun) {
  Pipeline pipeline;
  pipeline | "Same" >> Some({});
  pipeline | "Same" >> Some({});
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("Same"));

  Pipeline mixed;
  const auto a = mixed | "A" >> Some({});
  const auto b = a | "Tens" >> WindowInto(FixedWindows(Seconds(10)));
  Flatten("Mixed", std::vector{a, b});
  EXPECT_THAT(std::string(mixed.Run().message()), testing::HasSubstr("'Mixed'"));
}

}  // namespace
}  // namespace hornbeam
