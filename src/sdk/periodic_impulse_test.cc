// Impulses that come by the clock, and a side input that is refreshed by them, in every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/impulse.h"
#include "hornbeam/transforms/side_input.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// A stream without elements that moves the clock from 1 s on.
TestStream<int64_t> MovingClock(int64_t steps, Duration step) {
  TestStream<int64_t> stream;
  for (int64_t i = 0; i < steps; ++i) stream = stream.AdvanceProcessingTime(step);
  return stream.AdvanceWatermarkToInfinity();
}

int64_t InSeconds(EventTime t) { return t.us / 1'000'000; }

TEST(ImpulseTest, IsOneElement) {
  ForEachMode(1, [&](const TestMode& mode) {
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) { pipeline | "Impulse" >> Impulse() | "Collect" >> Collect(&seen); });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(seen.elements().size(), 1u);
    EXPECT_EQ(seen.elements()[0].value, "");
    EXPECT_EQ(seen.elements()[0].timestamp, EventTime::Min());
  });
}

TEST(PeriodicImpulseTest, EveryTickComesOnceAndAtItsTime) {
  ForEachMode(4, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Clock" >> MovingClock(8, Seconds(5));
      pipeline | "Ticks" >> PeriodicImpulse(Seconds(10)).StartingAt(At(-15)).StoppingAt(At(35)) |
          "Tell" >> Map([](const EventTime& tick, const ElementContext& context) {
            return absl::StrCat(InSeconds(tick), "/", InSeconds(context.timestamp()), " at ", context.processing_time().us / 1'000'000);
          }) |
          "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    // Those that are overdue at once; 35 is the end, and not among them.
    EXPECT_THAT(seen.values(),
                UnorderedElementsAre("-15/-15 at 1", "-5/-5 at 1", "5/5 at 6", "15/15 at 16", "25/25 at 26"));
  });
}

TEST(PeriodicImpulseTest, StartsWithTheJobAndItsWindowsCloseAtTheNextTick) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Clock" >> MovingClock(8, Seconds(5));
      pipeline | "Ticks" >> PeriodicImpulse(Seconds(10)).StoppingAt(At(25)).ApplyWindowing() |
          "Key" >> Map([](const EventTime& tick) { return KV<bool, int64_t>{true, InSeconds(tick)}; }) | "Group" >> GroupByKey() |
          "Tell" >> Map([](const KV<bool, std::vector<int64_t>>& pane, const ElementContext& context) {
            return absl::StrCat(pane.value.size(), "x", pane.value[0], " of ", InSeconds(context.window().start));
          }) |
          "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("1x1 of 0", "1x11 of 10", "1x21 of 20"));
  });
}

TEST(PeriodicImpulseTest, TicksByTheMachinesClock) {
  PipelineOptions options;
  options.workers = 2;
  Pipeline pipeline(options);
  Collector<int64_t> seen;
  const EventTime start = EventTime::FromMicros(Clock::System()->NowMicros());
  pipeline | "Ticks" >> PeriodicImpulse(Millis(3)).StartingAt(start).StoppingAt(start + Millis(30)) |
      "Early" >> Map([](const EventTime& tick, const ElementContext& context) {
        return std::max<int64_t>(0, tick.us - context.processing_time().us);
      }) | "Collect" >> Collect(&seen);
  const Status status = pipeline.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen.values(), std::vector<int64_t>(10, 0));
}

TEST(PeriodicImpulseTest, AnIntervalOfNothingIsAMistake) {
  const Status status = RunInMode({}, [&](Pipeline& pipeline) { pipeline | "Ticks" >> PeriodicImpulse(Seconds(0)); });
  EXPECT_THAT(std::string(status.message()), HasSubstr("a periodic sequence needs an interval above 0"));
}

// Beam's pattern of the slowly updating side input: a table outside is looked up every minute, and elements see what was found last.
TEST(PeriodicImpulseTest, ElementsAreEnrichedByATableThatIsLookedUpPeriodically) {
  ForEachMode(4, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto events = pipeline | "Events" >> TestStream<std::string>()
                                                     .AdvanceWatermarkTo(At(0))
                                                     .AddTimestamped({{"a", At(1)}, {"b", At(2)}})
                                                     .AdvanceProcessingTime(Seconds(30))
                                                     .AddTimestamped({{"c", At(30)}})
                                                     .AdvanceProcessingTime(Seconds(30))
                                                     .AddTimestamped({{"d", At(5)}})
                                                     .AdvanceProcessingTime(Seconds(60))
                                                     .AddTimestamped({{"e", At(90)}, {"f", At(1)}})
                                                     .AdvanceWatermarkToInfinity();
      const auto table = pipeline | "Tick" >> PeriodicImpulse(Seconds(60)).StoppingAt(At(150)) |
                         "LookUp" >> Map([](const EventTime& tick) { return absl::StrCat("v", InSeconds(tick) / 60); }) |
                         "Latest" >> WindowInto(GlobalWindows())
                                         .Triggering(Trigger::Repeatedly(Trigger::AfterCount(1)))
                                         .DiscardingFiredPanes()
                                         .WithOnTimeBehavior(model::OnTimeBehavior::kFireIfNonEmpty) |
                         "Table" >> AsSingleton();
      events | "Enrich" >> MapWithSideInputs([](const std::string& event, const std::string& version) {
        return absl::StrCat(event, "=", version);
      }, table) | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("a=v0", "b=v0", "c=v0", "d=v1", "e=v2", "f=v2"));
  });
}

// The same by windows: an element sees the table of its own minute, and waits for it.
TEST(PeriodicImpulseTest, ElementsAreEnrichedByTheTableOfTheirOwnWindow) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Clock" >> MovingClock(8, Seconds(20));
      const auto events = pipeline | "Events" >> Create<std::string>({{"a", At(1)}, {"b", At(61)}, {"c", At(125)}}) |
                          "Minutes" >> WindowInto(FixedWindows(Minutes(1)));
      const auto table = pipeline | "Tick" >> PeriodicImpulse(Minutes(1)).StartingAt(At(0)).StoppingAt(At(150)).ApplyWindowing() |
                         "LookUp" >> Map([](const EventTime& tick) { return absl::StrCat("v", InSeconds(tick) / 60); }) |
                         "Table" >> AsSingleton();
      events | "Enrich" >> MapWithSideInputs([](const std::string& event, const std::string& version) {
        return absl::StrCat(event, "=", version);
      }, table) | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("a=v0", "b=v1", "c=v2"));
  });
}

}  // namespace
}  // namespace hornbeam
