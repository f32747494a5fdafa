// Wait.on: when elements of a window go on, in every mode.
#include "hornbeam/transforms/wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

// A signal whose watermark goes to 10, 20, 25 and infinity, ten seconds of processing time apart, from 1 s on.
TestStream<int64_t> Signal() {
  return TestStream<int64_t>()
      .AddTimestamped({{1, At(3)}, {2, At(12)}})
      .AdvanceProcessingTime(Seconds(10))
      .AdvanceWatermarkTo(At(10))
      .AdvanceProcessingTime(Seconds(10))
      .AdvanceWatermarkTo(At(20))
      .AdvanceProcessingTime(Seconds(10))
      .AdvanceWatermarkTo(At(25))
      .AdvanceProcessingTime(Seconds(10))
      .AdvanceWatermarkToInfinity();
}

PCollection<std::string> Main(Pipeline& pipeline) {
  return pipeline | "Main" >> Create<std::string>({{"a", At(1)}, {"b", At(9)}, {"c", At(12)}, {"d", At(25)}}) | "MainWindow" >> Tens();
}

// Each element and when it went on.
auto Tell() {
  return Map([](const std::string& name, const ElementContext& context) {
    return absl::StrCat(name, " at ", context.processing_time().us / 1'000'000);
  });
}

TEST(WaitTest, AnElementGoesOnWhenItsWindowIsOverInTheSignal) {
  ForEachMode(3, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto signal = pipeline | "Signal" >> Signal() | "SignalWindow" >> Tens();
      Main(pipeline) | "Wait" >> Wait::On(signal) | "Tell" >> Tell() | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("a at 11", "b at 11", "c at 21", "d at 41"));
  });
}

TEST(WaitTest, AWindowIsClosedOnlyAfterTheSignalsAllowedLateness) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto signal = pipeline | "Signal" >> Signal() | "SignalWindow" >> Tens().WithAllowedLateness(Seconds(5));
      Main(pipeline) | "Wait" >> Wait::On(signal) | "Tell" >> Tell() | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("a at 21", "b at 21", "c at 31", "d at 41"));
  });
}

TEST(WaitTest, OfSeveralSignalsTheLastOneDecides) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto signal = pipeline | "Signal" >> Signal();
      const auto by_window = signal | "Windows" >> Tens();
      const auto names = pipeline | "Names" >> Create<std::string>(std::vector<std::string>{"x"}) | "NamesWindow" >> Tens();
      const auto at_the_end = signal | "Global" >> WindowInto(GlobalWindows());
      Main(pipeline) | "Wait" >> Wait::On(by_window, names) | "Tell" >> Tell() | "WaitForAll" >> Wait::On(at_the_end) |
          "TellAgain" >> Tell() | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("a at 11 at 41", "b at 11 at 41", "c at 21 at 41", "d at 41 at 41"));
  });
}

TEST(WaitTest, ElementsKeepTheirPlaceInTimeAndAreNotLate) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<bool, int64_t>> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto signal = pipeline | "Signal" >> Signal() | "SignalWindow" >> Tens();
      Main(pipeline) | "Wait" >> Wait::On(signal) | "One" >> Map([](const std::string&) { return KV<bool, int64_t>{true, 1}; }) |
          "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> seen;
    for (const auto& count : counts.elements()) {
      EXPECT_EQ(count.pane.timing, PaneTiming::kOnTime);
      seen.push_back(absl::StrCat(count.window.start.us / 1'000'000, ":", count.value.value));
    }
    EXPECT_THAT(seen, UnorderedElementsAre("0:2", "10:1", "20:1"));
  });
}

TEST(WaitTest, ASignalWhoseWindowsAreNotSettledIsRefused) {
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    const auto signal = pipeline | "Signal" >> Signal() | "Sessions" >> WindowInto(Sessions(Seconds(5)));
    Main(pipeline) | "Wait" >> Wait::On(signal);
  });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Wait/Signal0' waits for windows of sessions"));
}

}  // namespace
}  // namespace hornbeam
