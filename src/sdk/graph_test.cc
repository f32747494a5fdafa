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

  Pipeline untagged;
  const OutputTag<Event> kThere{"there"};
  const auto outputs = untagged | "Some" >> Some({})
                       | "Tagged" >> ParDo([](const Event&, OutputReceiver<Event>&) {}).WithOutputs(kThere);
  outputs.Get(OutputTag<Event>{"elsewhere"}) | "Plus" >> Plus(1);
  EXPECT_THAT(std::string(untagged.Run().message()), testing::HasSubstr("'elsewhere'"));
}

TEST(GraphTest, AFlattenOfNothingIsEmpty) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  Collector<Event> none;
  Flatten(pipeline, "None", std::vector<PCollection<Event>>{}) | "Collect" >> Collect(&none);
  const Status status = pipeline.Run();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(none.elements().empty());
}

TEST(GraphTest, WhatCannotBeCopiedHasOneReader) {
  for (const int readers : {1, 2}) {
    PipelineOptions options;
    options.deterministic_seed = 1;
    Pipeline pipeline(options);
    const auto boxes = pipeline | "Some" >> Some({{"a", 1}})
                       | "Box" >> Map([](const Event& event) { return std::make_unique<int64_t>(event.value); });
    const auto open = Map([](const std::unique_ptr<int64_t>& box) { return *box; });
    boxes | "Open" >> open;
    if (readers == 2) boxes | "Again" >> open;
    const Status status = pipeline.Run();
    EXPECT_EQ(status.ok(), readers == 1) << status;
    if (readers == 1) continue;
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("'Open' and 'Again'"));
  }
}

TEST(GraphTest, AWorkerThatTakesOverForOthersGoesOnFromTheLeastWatermark) {
  engine::JobContext job({});
  const engine::BoundedOutOfOrderness estimator(Seconds(1), Seconds(1));
  engine::EpochRecords log;
  for (const uint32_t worker : {0, 1}) {
    engine::WatermarkGeneratorOperator before(estimator);
    ASSERT_TRUE(before.Open({&job, {}, "Watermark", static_cast<int>(worker), 2}, 1).ok());
    auto batch = std::make_unique<engine::TypedBatch<int64_t>>();
    batch->Append(1, EventTime::FromSeconds(worker == 0 ? 11 : 101), Window::Global(), PaneInfo::NoFiring());
    ASSERT_TRUE(before.Process(0, std::move(batch)).ok());
    ASSERT_TRUE(before.OnMarker(1, &log).ok());
  }
  engine::WatermarkGeneratorOperator after(estimator);
  ASSERT_TRUE(after.Open({&job, {}, "Watermark", 0, 1}, 1).ok());
  engine::RecordReader reader(log.bytes());
  engine::RecordView record;
  while (reader.Next(&record)) ASSERT_TRUE(after.Restore(record.key.unit, record.replaces, record.payload).ok());
  EXPECT_EQ(after.AdvanceWatermark(EventTime::Min()).value(), EventTime::FromSeconds(10));
  // The other worker's estimate has ended.
  engine::EpochRecords next;
  ASSERT_TRUE(after.OnMarker(2, &next).ok());
  engine::RecordReader next_reader(next.bytes());
  std::vector<std::pair<uint32_t, bool>> units;  // and whether it lives on
  while (next_reader.Next(&record)) units.push_back({record.key.unit, !record.payload.empty()});
  EXPECT_THAT(units, UnorderedElementsAre(std::pair(1u, false), std::pair(0u, true)));
}

}  // namespace
}  // namespace hornbeam
