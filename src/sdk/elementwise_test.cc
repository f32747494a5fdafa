// FlatMap, Keys, Values, KvSwap, Partition and Reshuffle.
#include "hornbeam/transforms/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/mutex.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/combine.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/reshuffle.h"

namespace hornbeam {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TEST(ElementwiseTest, FlatMapGivesEveryValueOfARange) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> words;
    Collector<int64_t> stamped;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto lines = pipeline | "Lines" >> Create<std::string>({{"a b", At(1)}, {"", At(2)}, {"c", At(3)}});
      lines | "Words" >> FlatMap([](const std::string& line) -> std::vector<std::string> {
        return absl::StrSplit(line, ' ', absl::SkipEmpty());
      }) | "W" >> Collect(&words);
      lines | "Twice" >> FlatMap([](const std::string& line, const ElementContext& context) {
        return std::vector<int64_t>(line.size(), context.timestamp().us / 1'000'000);
      }) | "S" >> Collect(&stamped);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(words.values(), UnorderedElementsAre("a", "b", "c"));
    EXPECT_THAT(stamped.values(), UnorderedElementsAre(1, 1, 1, 3));
    for (const auto& word : words.elements()) EXPECT_EQ(word.timestamp, word.value == "c" ? At(3) : At(1));
  });
}

TEST(ElementwiseTest, KeysValuesSwapped) {
  Collector<std::string> keys;
  Collector<int64_t> values;
  Collector<KV<int64_t, std::string>> swapped;
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto events = pipeline | "Events" >> Create<Event>(std::vector<Event>{{"a", 1}, {"b", 2}});
    events | "Keys" >> Keys() | "K" >> Collect(&keys);
    events | "Values" >> Values() | "V" >> Collect(&values);
    events | "Swap" >> KvSwap() | "S" >> Collect(&swapped);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(keys.values(), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(values.values(), UnorderedElementsAre(1, 2));
  EXPECT_THAT(swapped.values(), UnorderedElementsAre(KV<int64_t, std::string>{1, "a"}, KV<int64_t, std::string>{2, "b"}));
}

TEST(ElementwiseTest, PartitionSendsEachElementToOneOutput) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> parts[3];
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto by_rest = pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{0, 1, 2, 3, 4, 6}) |
                           "Parts" >> Partition(3, [](int64_t n) { return static_cast<int>(n % 3); });
      ASSERT_EQ(by_rest.size(), 3u);
      for (int i = 0; i < 3; ++i) {
        by_rest[static_cast<size_t>(i)].Apply(absl::StrCat("Collect", i), Collect(&parts[i]));
      }
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(parts[0].values(), UnorderedElementsAre(0, 3, 6));
    EXPECT_THAT(parts[1].values(), UnorderedElementsAre(1, 4));
    EXPECT_THAT(parts[2].values(), UnorderedElementsAre(2));
  });
}

TEST(ElementwiseTest, APartitionThatThereIsNotFailsTheJob) {
  for (const int chosen : {-1, 2}) {
    const Status status = RunInMode({}, [&](Pipeline& pipeline) {
      pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{1}) | "Parts" >> Partition(2, [chosen](int64_t) { return chosen; });
    });
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("'Parts' has the partitions 0 to 1, and its function chose number ", chosen)));
  }
  const Status none = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{1}) | "Parts" >> Partition(0, [](int64_t) { return 0; });
  });
  EXPECT_THAT(none.message(), HasSubstr("'Parts' is to make 0 partitions; there has to be one at least"));
}

TEST(ReshuffleTest, ElementsStayAsTheyAre) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> before, after;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      TestStream<Event> stream = TestStream<Event>().AdvanceWatermarkTo(At(0));
      for (int64_t i = 0; i < 40; ++i) stream = stream.AddTimestamped({{{absl::StrCat("k", i % 3), i}, At(i)}});
      const auto events = pipeline | "Events" >> stream.AdvanceWatermarkTo(At(20)).AdvanceWatermarkToInfinity() |
                          "Window" >> WindowInto(FixedWindows(Seconds(10)));
      events | "Before" >> Collect(&before);
      events | "Spread" >> Reshuffle() | "After" >> Collect(&after);
    });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(before.elements().size(), 40u);
    EXPECT_THAT(after.elements(), testing::UnorderedElementsAreArray(before.elements()));
  });
}

TEST(ReshuffleTest, WindowsThatOverlapPassAsTheyAre) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> Create<Event>({{{"a", 1}, At(5)}, {{"a", 2}, At(15)}}) |
          "Window" >> WindowInto(SlidingWindows(Seconds(20), Seconds(10))) | "Spread" >> Reshuffle() |
          "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(sums.values(), UnorderedElementsAre(Event{"a", 1}, Event{"a", 3}, Event{"a", 2}));
  });
}

// One batch of few elements: each worker gets its part of them.
TEST(ReshuffleTest, FewElementsGoToAllWorkers) {
  Mutex mutex;
  std::set<std::thread::id> seen;
  PipelineOptions options;
  options.workers = 4;
  Pipeline pipeline(options);
  pipeline | "Few" >> Create<int64_t>(std::vector<int64_t>{1, 2, 3, 4}) | "Spread" >> Reshuffle() | "Where" >> Map([&](int64_t n) {
    MutexLock lock(&mutex);
    seen.insert(std::this_thread::get_id());
    return n;
  });
  ASSERT_TRUE(pipeline.Run().ok());
  EXPECT_EQ(seen.size(), 4u);
}

}  // namespace
}  // namespace hornbeam
