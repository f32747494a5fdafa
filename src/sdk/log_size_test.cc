// The log of a job that runs for long stays near its state: whatever an operator keeps, all of it can be written again, so that nothing
// of it holds the oldest segments for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/deduplicate.h"
#include "hornbeam/transforms/group_into_batches.h"
#include "sdk/fakes/offset_table.h"

namespace hornbeam {
namespace {

using Event = KV<std::string, int64_t>;
using Events = PCollection<Event>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
auto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

// Two events of 20 keys each second, and now and then one that is late.
TestStream<Event> LongStory() {
  TestStream<Event> stream = TestStream<Event>().AdvanceWatermarkTo(At(0));
  for (int64_t s = 0; s < 1500; ++s) {
    stream = stream.AddTimestamped({{{absl::StrCat("a key of some length ", s % 20), s}, At(s)},
                                    {{absl::StrCat("a key of some length ", s % 7), s}, At(s - s % 30)}});
    if (s % 2 == 0) stream = stream.AdvanceWatermarkTo(At(s)).AdvanceProcessingTime(Seconds(2));
  }
  return stream.AdvanceProcessingTime(Minutes(10)).AdvanceProcessingTime(Minutes(10)).AdvanceWatermarkToInfinity();
}

// `build` takes the events and, if it likes, a table to write to. The most that the disk has of the job.
template <typename Build>
uint64_t MostBytes(const TestMode& mode, bool rewrites, const Build& build) {
  uint64_t most = 0;
  fakes::OffsetTable table;
  const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
    auto* const fs = static_cast<MemoryFileSystem*>(pipeline.options().fs);
    pipeline.options().log_segment_bytes = 4'000;
    pipeline.options().log_rewrite_above_bytes = rewrites ? 30'000 : UINT64_MAX;
    pipeline.options().on_commit_point = [&most, fs](engine::CommitPoint) { most = std::max(most, fs->UsedBytes()); };
    const Events events = pipeline | "Events" >> LongStory();
    if constexpr (std::is_invocable_v<const Build&, const Events&>) {
      build(events);
    } else {
      build(events, &table);
    }
  });
  EXPECT_TRUE(status.ok()) << status;
  return most;
}

// Without rewriting the log of such a job has several times as much.
template <typename Build>
void ExpectSmallLog(const Build& build) {
  const TestMode mode{.batch_size = 16, .workers = 3, .crashes = false, .seed = 7};
  const uint64_t small = MostBytes(mode, true, build), large = MostBytes(mode, false, build);
  EXPECT_LT(small, 75'000u);
  EXPECT_GT(large, 3 * small);
}

TEST(LogSizeTest, Groupings) {
  ExpectSmallLog([](const Events& events) {
    const auto tens = events | "Tens" >> Tens().WithAllowedLateness(Seconds(40)).AccumulatingFiredPanes();
    tens | "Group" >> GroupByKey();
    tens | "Sum" >> CombinePerKey(Sum<int64_t>());
  });
}

TEST(LogSizeTest, MergingAndSlidingWindows) {
  ExpectSmallLog([](const Events& events) {
    const auto sessions = events | "Sessions" >> WindowInto(Sessions(Seconds(8))).WithAllowedLateness(Seconds(40));
    sessions | "Group" >> GroupByKey();
    sessions | "Sum" >> CombinePerKey(Sum<int64_t>());
    events | "Sliding" >> WindowInto(SlidingWindows(Seconds(20), Seconds(5))) | "SumSliding" >> CombinePerKey(Sum<int64_t>());
  });
}

TEST(LogSizeTest, Deduplication) {
  ExpectSmallLog([](const Events& events) {
    events | "Tens" >> Tens() | "OncePerWindow" >> DeduplicatePerWindow();
    events | "Once" >> DeduplicateKeyedValues().WithDuration(Seconds(30));
  });
}

// Buffers by key in the global window, and lets go by a timer; and by count.
struct BufferUntilQuiet : StatefulDoFn {
  BagState<int64_t> values{"values"};
  MapState<int64_t, int64_t> last{"last"};
  EventTimer flush{"flush"};
  void ProcessElement(const Event& event, const ElementContext& context, OutputReceiver<int64_t>&) {
    values.Add(event.value);
    last.Put(event.value % 3, event.value);
    flush.Set(context.timestamp() + Seconds(50));
  }
  void OnTimer(const std::string&, const TimerContext&, OutputReceiver<int64_t>& out) {
    out.Output(static_cast<int64_t>(values.Take().size()));
  }
};

TEST(LogSizeTest, StateAndTimers) {
  ExpectSmallLog([](const Events& events) {
    events | "Buffer" >> ParDo<int64_t>(BufferUntilQuiet());
    events | "Batch" >> GroupIntoBatches::OfSize(5);
  });
}

// What is parked comes and goes: every second element fails while the clock shows an odd number of tens of seconds, until the end is
// near.
TEST(LogSizeTest, ParkedElements) {
  ExpectSmallLog([](const Events& events) {
    events | "Flaky" >> ParDo<Event>([](const Event& event, const ElementContext& context, OutputReceiver<Event>& out) {
                          const int64_t now_s = context.processing_time().us / 1'000'000;
                          if (event.value % 2 == 0 && now_s < 1400 && now_s / 10 % 2 == 1) throw std::runtime_error("away");
                          out.Output(event);
                        }).OnFailure(FailurePolicy::kRetry);
  });
}

TEST(LogSizeTest, SideInputsAndWhatWaitsForThem) {
  ExpectSmallLog([](const Events& events) {
    const auto view = events | "Value" >> Map([](const Event& event) { return event.value; }) | "SideWindow" >> Tens() | "View" >> AsList();
    events | "Main" >> Tens()
           | "Look" >> MapWithSideInputs([](const Event& event, const std::vector<int64_t>& values) {
               return event.value + static_cast<int64_t>(values.size());
             }, view);
  });
}

// Some 3,000 panes, of which the last has as many elements: the log has each element a few times, not each pane.
TEST(LogSizeTest, AViewThatAccumulates) {
  const auto build = [](const Events& events) {
    const auto view = events | "Value" >> Map([](const Event& event) { return event.value; })
                             | "SideWindow" >> WindowInto(GlobalWindows())
                                                   .Triggering(Trigger::Repeatedly(Trigger::AfterCount(1)))
                                                   .AccumulatingFiredPanes()
                             | "View" >> AsList();
    events | "Main" >> WindowInto(GlobalWindows())
           | "Look" >> MapWithSideInputs([](const Event& event, const std::vector<int64_t>& values) {
               return event.value + static_cast<int64_t>(values.size());
             }, view);
  };
  const TestMode mode{.batch_size = 16, .workers = 3, .crashes = false, .seed = 7};
  EXPECT_LT(MostBytes(mode, true, build), 75'000u);
  EXPECT_LT(MostBytes(mode, false, build), 1'500'000u);
}

TEST(LogSizeTest, SinksAndTheirAnswers) {
  ExpectSmallLog([](const Events& events, fakes::OffsetTable* table) {
    const auto written = events | "Row" >> Map([](const Event& event) {
                           return absl::StrCat(event.value % 5 == 0 ? "bad " : "row ", event.key, event.value);
                         }) | "Write" >> fakes::WriteTable(table);
    written.answers | "Keyed" >> Map([](const std::string& row) { return KV<std::string, int64_t>{row, 1}; })
                    | "Tens" >> Tens() | "Refused" >> CombinePerKey(Sum<int64_t>());
  });
}

TEST(LogSizeTest, WatermarksOfElements) {
  ExpectSmallLog([](const Events& events) {
    events | "Watermark" >> WithWatermark(BoundedOutOfOrderness(Seconds(40), Seconds(1))) | "Tens" >> Tens()
           | "Sum" >> CombinePerKey(Sum<int64_t>());
  });
}

}  // namespace
}  // namespace hornbeam
