// GroupIntoBatches and BatchElements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/batch_elements.h"
#include "hornbeam/transforms/group_into_batches.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

using Event = KV<std::string, std::string>;
using Batches = KV<std::string, std::vector<std::string>>;
EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
TimestampedValue<Event> Ev(const std::string& key, const std::string& value, int64_t at_s) { return {{key, value}, At(at_s)}; }

void Expect(const TestStream<Event>& events, const GroupIntoBatches& transform, const std::vector<std::string>& expected) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Batches> batches;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> events | "Tens" >> WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(5))
               | "Batch" >> transform | "Batches" >> Collect(&batches);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> actual;
    for (const auto& element : batches.elements()) {
      actual.push_back(absl::StrCat(element.value.key, " ", absl::StrJoin(element.value.value, "+"), " @",
                                    element.timestamp.us / 1'000'000, " in ", element.window.start.us / 1'000'000));
    }
    EXPECT_THAT(actual, UnorderedElementsAreArray(expected));
  });
}

TestStream<Event> Story() {
  return TestStream<Event>()
      .AdvanceWatermarkTo(At(0))
      .AddTimestamped({Ev("a", "1", 4), Ev("a", "2", 3), Ev("b", "3", 5), Ev("a", "4", 6), Ev("a", "5", 11)})
      .AdvanceWatermarkTo(At(12))
      .AddTimestamped({Ev("a", "6", 7)})
      .AdvanceProcessingTime(Seconds(5))
      .AddTimestamped({Ev("a", "7", 13)})
      .AdvanceProcessingTime(Seconds(5))
      .AdvanceWatermarkTo(At(20))
      .AdvanceWatermarkToInfinity();
}

TEST(BatchingTest, ByCountAndWhatIsLeftAtTheEndOfItsWindow) {
  Expect(Story(), GroupIntoBatches::OfSize(2), {"a 1+2 @3 in 0", "a 4+6 @6 in 0", "b 3 @5 in 0", "a 5+7 @11 in 10"});
  Expect(Story(), GroupIntoBatches::OfSize(3), {"a 1+2+4 @3 in 0", "a 6 @7 in 0", "b 3 @5 in 0", "a 5+7 @11 in 10"});
  Expect(Story(), GroupIntoBatches::OfSize(1),
         {"a 1 @4 in 0", "a 2 @3 in 0", "b 3 @5 in 0", "a 4 @6 in 0", "a 5 @11 in 10", "a 6 @7 in 0", "a 7 @13 in 10"});
}

TEST(BatchingTest, ByTheClock) {
  // Seven seconds after the first of a batch: 1, 2, 4 and 6 in the first window, 5 and 7 in the second.
  Expect(Story(), GroupIntoBatches::OfSize(100).WithMaxBufferingDuration(Seconds(7)),
         {"a 1+2+4+6 @3 in 0", "b 3 @5 in 0", "a 5+7 @11 in 10"});
  Expect(Story(), GroupIntoBatches::OfSize(3).WithMaxBufferingDuration(Seconds(4)),
         {"a 1+2+4 @3 in 0", "b 3 @5 in 0", "a 6 @7 in 0", "a 5 @11 in 10", "a 7 @13 in 10"});
}

TEST(BatchingTest, ByBytesOneThatWouldBeTooMuchBeginsTheNext) {
  // A string is one byte longer in its coder.
  Expect(TestStream<Event>()
             .AdvanceWatermarkTo(At(0))
             .AddTimestamped({Ev("a", "123", 1), Ev("a", "45", 2), Ev("a", "6", 3), Ev("a", "7890123456789", 4), Ev("a", "0", 5),
                              Ev("a", "1234567", 6)})
             .AdvanceWatermarkToInfinity(),
         GroupIntoBatches::OfByteSize(8),
         {"a 123+45 @1 in 0", "a 6 @3 in 0", "a 7890123456789 @4 in 0", "a 0 @5 in 0", "a 1234567 @6 in 0"});
}

// A batch holds the watermark at its first element.
TEST(BatchingTest, ABatchIsOnTimeDownstream) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, int64_t>> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> Story() | "Batch" >> GroupIntoBatches::OfSize(100).WithMaxBufferingDuration(Minutes(1))
               | "Seconds" >> WindowInto(FixedWindows(Seconds(1)))
               | "Pair" >> Map([](const Batches& batch) { return KV<std::string, int64_t>{"n", static_cast<int64_t>(batch.value.size())}; })
               | "Count" >> CombinePerKey(Sum<int64_t>()) | "Counts" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    int64_t total = 0;
    for (const auto& element : counts.elements()) {
      EXPECT_EQ(element.pane.timing, PaneTiming::kOnTime);
      total += element.value.value;
    }
    EXPECT_EQ(total, 7);
  });
}

TEST(BatchingTest, AShardedKeyFillsSeveralBatches) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<ShardedKey<std::string>, std::vector<std::string>>> batches;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      TestStream<Event> events = TestStream<Event>().AdvanceWatermarkTo(At(0));
      for (int i = 0; i < 60; ++i) events = events.AddTimestamped({Ev("hot", absl::StrCat(i), i / 10)});
      pipeline | "Events" >> events.AdvanceWatermarkToInfinity() | "Batch" >> GroupIntoBatches::OfSize(5).WithShardedKey(3)
               | "Batches" >> Collect(&batches);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> values;
    std::map<int64_t, size_t> of_shard;
    for (const auto& batch : batches.values()) {
      EXPECT_EQ(batch.key.key, "hot");
      EXPECT_LE(batch.value.size(), 5u);
      of_shard[batch.key.shard] += batch.value.size();
      values.insert(values.end(), batch.value.begin(), batch.value.end());
    }
    EXPECT_EQ(values.size(), 60u);
    EXPECT_EQ(of_shard.size(), 3u);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
  });
}

TEST(BatchingTest, ABatchOfNothingIsRefused) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  pipeline | "Events" >> Story() | "Batch" >> GroupIntoBatches::OfSize(0);
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Batch': the size of a batch must be above zero"));
}

TEST(BatchElementsTest, EveryElementIsInOneBatchOfItsWindow) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::vector<int64_t>> batches;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      TestStream<int64_t> numbers = TestStream<int64_t>().AdvanceWatermarkTo(At(0));
      for (int64_t i = 0; i < 10; ++i) {
        std::vector<TimestampedValue<int64_t>> some;
        for (int64_t j = 0; j < 10; ++j) some.push_back({i * 10 + j, At(i * 10 + j)});
        numbers = numbers.AddTimestamped(some).AdvanceWatermarkTo(At(i * 10));
      }
      pipeline | "Numbers" >> numbers.AdvanceWatermarkToInfinity() | "Windows" >> WindowInto(FixedWindows(Seconds(25)))
               | "Batch" >> BatchElements(4) | "Batches" >> Collect(&batches);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<int64_t> all;
    for (const auto& element : batches.elements()) {
      ASSERT_FALSE(element.value.empty());
      EXPECT_LE(element.value.size(), 4u);
      EXPECT_EQ(element.timestamp, At(*std::min_element(element.value.begin(), element.value.end())));
      for (const int64_t number : element.value) EXPECT_EQ(element.window, FixedWindows(Seconds(25)).AssignOne(At(number)));
      all.insert(all.end(), element.value.begin(), element.value.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), 100u);
    for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
    if (mode.batch_size > 1) {
      EXPECT_LT(batches.elements().size(), 60u);  // they are batches
    }
  });
}

}  // namespace
}  // namespace hornbeam
