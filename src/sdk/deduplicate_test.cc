// Deduplicate by a time, of the clock or of events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/job/job_context.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/deduplicate.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Event = KV<std::string, int64_t>;
EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
TimestampedValue<Event> Ev(const std::string& key, int64_t value, int64_t at_s) { return {{key, value}, At(at_s)}; }

TEST(DeduplicateTest, ByTheClock) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> once;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> TestStream<Event>()
                                 .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2), Ev("b", 3, 3)})
                                 .AdvanceProcessingTime(Minutes(9))
                                 .AddTimestamped({Ev("a", 4, 4), Ev("c", 5, 5)})
                                 .AdvanceProcessingTime(Minutes(1))  // a and b are forgotten
                                 .AddTimestamped({Ev("a", 6, 6), Ev("c", 7, 7), Ev("a", 8, 8)})
                                 .AdvanceWatermarkToInfinity()
               | "Once" >> Deduplicate::KeyedValues() | "Collect" >> Collect(&once);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(once.values(), UnorderedElementsAre(Event{"a", 1}, Event{"b", 3}, Event{"c", 5}, Event{"a", 6}));
    for (const auto& element : once.elements()) EXPECT_EQ(element.timestamp, At(element.value.value));
  });
}

TEST(DeduplicateTest, InEventTime) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> once;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> TestStream<Event>()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({Ev("a", 1, 10), Ev("a", 2, 12)})
                                 .AdvanceWatermarkTo(At(70))  // not past it
                                 .AddTimestamped({Ev("a", 3, 70)})
                                 .AdvanceWatermarkTo(At(71))
                                 .AddTimestamped({Ev("a", 4, 71), Ev("a", 5, 72)})
                                 .AdvanceWatermarkToInfinity()
               | "Once" >> Deduplicate::KeyedValues().WithTimeDomain(TimeDomain::kEventTime).WithDuration(Minutes(1))
               | "Collect" >> Collect(&once);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(once.values(), UnorderedElementsAre(Event{"a", 1}, Event{"a", 4}));
  });
}

TEST(DeduplicateTest, ByValueAndByRepresentativeValueInEachWindow) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> values;
    Collector<std::string> by_size;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto words = pipeline | "Words" >> TestStream<std::string>()
                                                   .AdvanceWatermarkTo(At(0))
                                                   .AddTimestamped({{"one", At(1)}, {"one", At(2)}, {"two", At(3)}, {"one", At(11)}, {"three", At(12)}})
                                                   .AdvanceWatermarkToInfinity()
                         | "Tens" >> WindowInto(FixedWindows(Seconds(10)));
      words | "Values" >> Deduplicate::Values() | "CollectValues" >> Collect(&values);
      words | "Sizes" >> Deduplicate::ByRepresentativeValue([](const std::string& word) { return static_cast<int64_t>(word.size()); })
            | "CollectSizes" >> Collect(&by_size);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(values.values(), UnorderedElementsAre("one", "two", "one", "three"));
    EXPECT_THAT(by_size.values(), UnorderedElementsAre("one", "one", "three"));
  });
}

// What is forgotten takes no memory and no place in the log.
TEST(DeduplicateTest, WhatIsForgottenIsGone) {
  using Fn = internal::DoFnCaller<internal::DeduplicateFn<std::string, int64_t, ProcessingTimer>>;
  ManualClock clock(1'000'000);
  engine::JobOptions options;
  options.clock = &clock;
  engine::JobContext job(options);
  engine::StatefulParDoOperator<std::string, int64_t, Fn, Event> once(
      WindowingStrategy(), Fn{internal::DeduplicateFn<std::string, int64_t, ProcessingTimer>(Minutes(10))}, {});
  ASSERT_TRUE(once.Open({&job, {}, "Once", 0, 1}, 2).ok());
  engine::EpochRecords records;
  const auto live_bytes = [&] {
    records.Clear();
    for (uint32_t slice = 0; slice < model::kKeySlices; ++slice) EXPECT_TRUE(once.Rewrite(slice, &records).ok());
    return records.size_bytes() - model::kKeySlices * engine::EpochRecords::kHeaderBytes;
  };
  for (int round = 0; round < 3; ++round) {
    auto batch = std::make_unique<engine::TypedBatch<Event>>();
    for (int64_t i = 0; i < 1000; ++i) {
      const std::string key = std::to_string(round * 1000 + i);
      batch->hashes.push_back(model::HashKey(key));
      batch->Append({key, i}, At(1), Window::Global(), PaneInfo::NoFiring());
    }
    ASSERT_TRUE(once.Process(0, std::move(batch)).ok());
    EXPECT_EQ(once.output(0).elements(), 1000 * (round + 1));
    records.Clear();
    ASSERT_TRUE(once.OnMarker(1, &records).ok());
    EXPECT_GT(live_bytes(), 10'000u);
    clock.AdvanceMicros(Minutes(10).us);
    EXPECT_LE(once.NextProcessingTime(), job.Now());
    ASSERT_TRUE(once.OnProcessingTime(job.Now()).ok());
    EXPECT_EQ(once.NextProcessingTime(), ProcessingTime::Never());
    records.Clear();
    ASSERT_TRUE(once.OnMarker(2, &records).ok());
    EXPECT_EQ(live_bytes(), 0u);
  }
}

TEST(DeduplicateTest, ADurationOfNothingIsRefused) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  pipeline | "Events" >> Create<Event>(std::vector<Event>{{"a", 1}}) | "Once" >> Deduplicate::KeyedValues().WithDuration(Seconds(0));
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Once': the duration must be above zero"));
}

}  // namespace
}  // namespace hornbeam
