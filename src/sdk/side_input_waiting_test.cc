// Elements that wait for side inputs, where waiting is hard: at the end of input, for two views, behind a full channel, beside late
// side data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "sdk/fakes/message_queue.h"

namespace hornbeam {
namespace {

using testing::UnorderedElementsAre;
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
TimestampedValue<Event> Ev(const std::string& name, int64_t value, int64_t at_s) { return {{name, value}, At(at_s)}; }
WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

auto Named(const std::string& name) {
  return Filter([name](const Event& e) { return e.key == name; });
}
auto Value() {
  return Map([](const Event& e) { return e.value; });
}
int64_t Total(const std::vector<int64_t>& values) {
  int64_t total = 0;
  for (const int64_t value : values) total += value;
  return total;
}

// The main input is over, and all that is left is what waits. The side input has nothing for it: only the end of its input says so.
TEST(SideInputWaitingTest, WhatWaitsIsReleasedByTheEndOfTheSideInput) {
  for (const bool global : {false, true}) {
    ForEachMode(3, [&](const TestMode& mode) {
      SCOPED_TRACE(absl::StrCat(ToString(mode), global ? ", global" : ""));
      const WindowInto windows = global ? WindowInto(GlobalWindows()).Triggering(Trigger::Repeatedly(Trigger::AfterCount(1))) : Tens();
      Collector<std::string> seen;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        const auto view = pipeline | "Side" >> TestStream<int64_t>().AdvanceWatermarkTo(At(5)).AdvanceWatermarkTo(At(9)).AdvanceWatermarkToInfinity()
                                   | "SideWindow" >> windows | "View" >> AsList();
        pipeline | "Main" >> Create<std::string>({{"a", At(1)}, {"b", At(12)}, {"c", At(31)}, {"d", At(1)}}) | "MainWindow" >> windows
                 | "Look" >> MapWithSideInputs([](const std::string& name, const std::vector<int64_t>& values) {
                     return absl::StrCat(name, values.size());
                   }, view)
                 | "Collect" >> Collect(&seen);
      });
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(seen.values(), UnorderedElementsAre("a0", "b0", "c0", "d0"));
    });
  }
}

// A drain ends sources that would not end: what has been read and waits comes out of it, once for each that was acknowledged.
TEST(SideInputWaitingTest, ADrainReleasesWhatWaits) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    constexpr int kMessages = 60;
    std::vector<TimestampedValue<std::string>> messages;
    for (int i = 0; i < kMessages; ++i) messages.push_back({absl::StrCat("row", i), At(i)});
    fakes::MessageQueue<std::string> queue(std::move(messages));
    Collector<std::string> seen;
    MemoryFileSystem fs;
    ManualClock clock(1'000'000);
    PipelineOptions options;
    options.name = "drained";
    options.state_dir = "/job";
    options.fs = &fs;
    options.clock = &clock;
    options.workers = 3;
    options.batch_size = 2;
    options.deterministic_seed = seed;
    Pipeline pipeline(options);
    engine::Job* running = nullptr;
    int read = 0;
    // In the global window the side input is complete only when all input has ended.
    const auto rows = pipeline | "Messages" >> fakes::ReadQueue(&queue, 2) | "Watch" >> Map([&](const std::string& row) {
                        if (++read == 20) running->Drain();
                        return row;
                      });
    const auto view = rows | "Length" >> Map([](const std::string& row) { return static_cast<int64_t>(row.size()); })
                           | "View" >> AsList();
    rows | "Look" >> MapWithSideInputs([](const std::string& row, const std::vector<int64_t>& all) {
      return absl::StrCat(row, " of ", all.size());
    }, view) | "Collect" >> Collect(&seen);
    const auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    running = job->get();
    const Status status = (*job)->Run();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ((*job)->state(), engine::JobState::kDrained);
    EXPECT_GE(queue.acked(), 20u);
    EXPECT_LT(queue.acked(), size_t{kMessages});
    std::vector<std::string> expected;
    for (size_t i = 0; i < size_t{kMessages}; ++i) {
      if (queue.IsAcked(i)) expected.push_back(absl::StrCat("row", i, " of ", queue.acked()));
    }
    EXPECT_THAT(seen.values(), testing::UnorderedElementsAreArray(expected));
  }
}

// A pane of the side input that comes when nobody can ask for its window any more changes nothing, and is not kept.
TEST(SideInputWaitingTest, LateSideDataAfterItsViewWasDropped) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto events = pipeline | "Events" >> TestStream<Event>()
                                                     .AdvanceWatermarkTo(At(0))
                                                     .AddTimestamped({Ev("side", 1, 1), Ev("main", 1, 2)})
                                                     .AdvanceWatermarkTo(At(100))
                                                     .AddTimestamped({Ev("side", 2, 3)})
                                                     .AddTimestamped({Ev("main", 2, 4)})
                                                     .AddTimestamped({Ev("side", 4, 105), Ev("main", 3, 106)})
                                                     .AddTimestamped({Ev("side", 8, 5)})
                                                     .AdvanceWatermarkTo(At(200))
                                                     .AddTimestamped({Ev("side", 16, 6), Ev("main", 4, 7)})
                                                     .AdvanceWatermarkToInfinity();
      const auto view = events | "Side" >> Named("side") | "Value" >> Value()
                               | "SideWindow" >> Tens().WithAllowedLateness(Hours(1)).AccumulatingFiredPanes() | "View" >> AsList();
      events | "Main" >> Named("main") | "MainWindow" >> Tens()
             | "Look" >> MapWithSideInputs([](const Event& event, const std::vector<int64_t>& values) {
                 return absl::StrCat(event.value, " sees ", Total(values));
               }, view)
             | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("1 sees 1", "3 sees 4"));
  });
}

// Both inputs come of one source, the main one far ahead: many times what a channel holds. What waits does not stand in the way of what
// it waits for.
TEST(SideInputWaitingTest, OneSourceForBothInputsAndMoreElementsThanChannelsHold) {
  constexpr int64_t kElements = 3000;
  std::vector<TimestampedValue<Event>> events;
  for (int64_t i = 0; i < kElements; ++i) events.push_back(Ev("main", i, 1));
  for (int64_t i = 0; i < kElements; ++i) events.push_back(Ev("side", i, 2));
  const auto build = [&](Pipeline& pipeline, Collector<int64_t>* seen) {
    const auto all = pipeline | "Events" >> Create<Event>(events) | "Tens" >> Tens();
    const auto view = all | "Side" >> Named("side") | "Value" >> Value() | "View" >> AsList();
    all | "Main" >> Named("main") | "Look" >> MapWithSideInputs([](const Event& event, const std::vector<int64_t>& values) {
      return event.value + Total(values);
    }, view) | "Collect" >> Collect(seen);
  };
  const auto check = [&](const Collector<int64_t>& seen) {
    std::vector<int64_t> values = seen.values();
    std::sort(values.begin(), values.end());
    ASSERT_EQ(values.size(), static_cast<size_t>(kElements));
    constexpr int64_t kAll = kElements * (kElements - 1) / 2;
    for (int64_t i = 0; i < kElements; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], kAll + i);
  };
  ForEachMode(1, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) { build(pipeline, &seen); });
    ASSERT_TRUE(status.ok()) << status;
    check(seen);
  });
  // With threads, whose queues are full for real.
  for (const int workers : {1, 4}) {
    SCOPED_TRACE(absl::StrCat(workers, " threads"));
    MemoryFileSystem fs;
    PipelineOptions options;
    options.state_dir = "/job";
    options.fs = &fs;
    options.workers = workers;
    options.batch_size = 3;
    Pipeline pipeline(options);
    Collector<int64_t> seen;
    build(pipeline, &seen);
    const Status status = pipeline.Run();
    ASSERT_TRUE(status.ok()) << status;
    check(seen);
  }
}

// An element waits for the last of its views, whichever that is, and then sees both.
TEST(SideInputWaitingTest, TwoViewsThatBecomeReadyAtDifferentTimes) {
  for (const bool long_first : {false, true}) {
    ForEachMode(3, [&](const TestMode& mode) {
      SCOPED_TRACE(absl::StrCat(ToString(mode), long_first ? ", the long windows first" : ""));
      Collector<std::string> seen;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        const auto events = pipeline | "Events" >> TestStream<Event>()
                                                       .AdvanceWatermarkTo(At(0))
                                                       .AddTimestamped({Ev("main", 1, 1), Ev("main", 2, 12), Ev("main", 3, 32)})
                                                       .AddTimestamped({Ev("short", 1, 2), Ev("long", 10, 3), Ev("short", 2, 13)})
                                                       .AdvanceWatermarkTo(At(15))
                                                       .AddTimestamped({Ev("main", 4, 16), Ev("long", 20, 17)})
                                                       .AdvanceWatermarkTo(At(31))
                                                       .AddTimestamped({Ev("main", 5, 35)})
                                                       .AddTimestamped({Ev("short", 4, 36), Ev("long", 40, 37)})
                                                       .AdvanceWatermarkTo(At(41))
                                                       .AdvanceWatermarkToInfinity();
        const auto short_view = events | "Short" >> Named("short") | "ShortValue" >> Value() | "ShortWindow" >> Tens() | "ShortView" >> AsList();
        const auto long_view = events | "Long" >> Named("long") | "LongValue" >> Value()
                                      | "LongWindow" >> WindowInto(FixedWindows(Seconds(30))) | "LongView" >> AsList();
        const auto main = events | "Main" >> Named("main") | "MainWindow" >> Tens();
        const auto look = [](const Event& event, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
          return absl::StrCat(event.value, " sees ", Total(a) + Total(b));
        };
        (long_first ? main | "Look" >> MapWithSideInputs(look, long_view, short_view)
                    : main | "Look" >> MapWithSideInputs(look, short_view, long_view)) |
            "Collect" >> Collect(&seen);
      });
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(seen.values(), UnorderedElementsAre("1 sees 31", "2 sees 32", "3 sees 44", "4 sees 32", "5 sees 44"));
    });
  }
}

}  // namespace
}  // namespace hornbeam
