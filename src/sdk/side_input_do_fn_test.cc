// What a DoFn with side inputs may be: with several outputs, a filter, one that fails; and what becomes of failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
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
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

// Elements 1 and 2 wait for limit 1, element 3 finds limit 2 there.
struct Limited {
  PCollection<int64_t> numbers;
  PCollectionView<engine::SingletonView<int64_t>, internal::SeeAll> limit;
};
Limited Numbers(Pipeline& pipeline) {
  const auto events = pipeline | "Events" >> TestStream<Event>()
                                                 .AdvanceWatermarkTo(At(0))
                                                 .AddTimestamped({{{"number", 1}, At(1)}, {{"number", 2}, At(2)}, {{"limit", 1}, At(3)}})
                                                 .AddTimestamped({{{"limit", 2}, At(13)}})
                                                 .AdvanceWatermarkTo(At(11))
                                                 .AddTimestamped({{{"number", 3}, At(14)}})
                                                 .AdvanceProcessingTime(Seconds(10))
                                                 .AdvanceWatermarkTo(At(21))
                                                 .AdvanceProcessingTime(Minutes(10))
                                                 .AdvanceProcessingTime(Minutes(10))
                                                 .AdvanceWatermarkToInfinity()
                               | "Tens" >> Tens();
  const auto of = [&](const std::string& name) {
    return events.Apply(name, Filter([name](const Event& e) { return e.key == name; })).Apply(name + "s", Map([](const Event& e) { return e.value; }));
  };
  return {of("number"), of("limit") | "View" >> AsSingleton()};
}

TEST(SideInputDoFnTest, AFilterKeepsWhatItsFunctionSays) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> kept, of_window;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const Limited in = Numbers(pipeline);
      in.numbers | "Keep" >> FilterWithSideInputs([](int64_t number, int64_t limit) { return number > limit; }, in.limit)
                 | "Collect" >> Collect(&kept);
      in.numbers | "KeepFirst" >> FilterWithSideInputs([](int64_t number, const ElementContext& context, int64_t limit) {
        return context.window().start == At(0) && number <= limit;
      }, in.limit) | "CollectFirst" >> Collect(&of_window);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(kept.values(), UnorderedElementsAre(2, 3));
    EXPECT_THAT(of_window.values(), UnorderedElementsAre(1));
    for (const auto& element : kept.elements()) EXPECT_EQ(element.timestamp, At(element.value == 2 ? 2 : 14));
  });
}

TEST(SideInputDoFnTest, SeveralOutputs) {
  const OutputTag<int64_t> small{"small"};
  const OutputTag<std::string> large{"large"};
  ForEachMode(3, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> smalls;
    Collector<std::string> larges;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const Limited in = Numbers(pipeline);
      const auto parted = in.numbers | "Part" >> ParDoWithSideInputs(
                                           [](int64_t number, int64_t limit, OutputReceiver<int64_t>& small_out,
                                              OutputReceiver<std::string>& large_out) {
                                             if (number <= limit) return small_out.Output(number);
                                             large_out.Output(absl::StrCat(number));
                                             large_out.Output(absl::StrCat("over ", limit));
                                           },
                                           in.limit)
                                           .WithOutputs(small, large);
      parted.Get(small) | "Smalls" >> Collect(&smalls);
      parted.Get(large) | "Larges" >> Collect(&larges);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(smalls.values(), UnorderedElementsAre(1));
    EXPECT_THAT(larges.values(), UnorderedElementsAre("2", "over 1", "3", "over 2"));
  });
}

// Throws on odd numbers, having put out half of what it makes, until the clock shows `until_us`.
struct Halves {
  int64_t until_us;
  void operator()(int64_t number, const ElementContext& context, int64_t limit, OutputReceiver<std::string>& out,
                  OutputReceiver<int64_t>& rest) const {
    out.Output(absl::StrCat(number, "/", limit));
    if (number % 2 == 1 && context.processing_time().us < until_us) throw std::runtime_error(absl::StrCat("odd, over ", limit));
    rest.Output(number);
  }
};
const OutputTag<std::string> kTexts{"texts"};
const OutputTag<int64_t> kRest{"rest"};

TEST(SideInputDoFnTest, DeadLettersOfSeveralOutputs) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> texts, failures;
    Collector<int64_t> rest;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const Limited in = Numbers(pipeline);
      const auto all = in.numbers | "Halves" >> ParDoWithSideInputs(Halves{INT64_MAX}, in.limit).WithOutputs(kTexts, kRest).WithFailures();
      all.Get(kTexts) | "Texts" >> Collect(&texts);
      all.Get(kRest) | "Rest" >> Collect(&rest);
      all.failures() | "Error" >> Map([](const FailedElement& failed) { return absl::StrCat(failed.element, ": ", failed.error); })
                     | "Failures" >> Collect(&failures);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(texts.values(), UnorderedElementsAre("2/1"));
    EXPECT_THAT(rest.values(), UnorderedElementsAre(2));
    EXPECT_THAT(failures.values(), UnorderedElementsAre(HasSubstr("odd, over 1"), HasSubstr("odd, over 2")));
  });
}

// Parked elements go on where they are after a crash; they hold the watermark, and with it the view that they have seen.
TEST(SideInputDoFnTest, ARetriedElementComesOutOnceAndInTime) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> texts;
    Collector<KV<std::string, int64_t>> sums;
    int64_t began_us = 0;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      if (began_us == 0) began_us = pipeline.options().clock->NowMicros();
      const Limited in = Numbers(pipeline);
      const auto all = in.numbers | "Halves" >> ParDoWithSideInputs(Halves{began_us + 60'000'000}, in.limit)
                                                    .WithOutputs(kTexts, kRest)
                                                    .OnFailure(FailurePolicy::kRetry);
      all.Get(kTexts) | "Texts" >> Collect(&texts);
      all.Get(kRest) | "Pair" >> Map([](int64_t number) { return KV<std::string, int64_t>{"sum", number}; })
                     | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(texts.values(), UnorderedElementsAre("1/1", "2/1", "3/2"));
    EXPECT_THAT(sums.values(), UnorderedElementsAre(Event{"sum", 3}, Event{"sum", 3}));
    for (const auto& sum : sums.elements()) EXPECT_EQ(sum.pane.timing, PaneTiming::kOnTime);
  });
}

// After a restart the side input is empty in the window only when its watermark has come again: a parked element waits for that.
TEST(SideInputDoFnTest, AnElementThatIsParkedOverAnEmptyView) {
  ForEachMode(5, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> seen;
    int64_t began_us = 0;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      if (began_us == 0) began_us = pipeline.options().clock->NowMicros();
      const auto events = pipeline | "Events" >> TestStream<int64_t>()
                                                     .AdvanceWatermarkTo(At(0))
                                                     .AddTimestamped({{7, At(1)}, {8, At(2)}})
                                                     .AdvanceWatermarkTo(At(11))
                                                     .AddTimestamped({{9, At(12)}})
                                                     .AdvanceProcessingTime(Minutes(10))
                                                     .AdvanceProcessingTime(Minutes(10))
                                                     .AdvanceWatermarkTo(At(30))
                                                     .AdvanceProcessingTime(Minutes(10))
                                                     .AdvanceProcessingTime(Minutes(10))
                                                     .AdvanceWatermarkToInfinity()
                                   | "Tens" >> Tens();
      const auto none = events | "None" >> Filter([](int64_t) { return false; }) | "View" >> AsList();
      events | "Flaky" >> ParDoWithSideInputs<int64_t>(
                              [until_us = began_us + 60'000'000](int64_t number, const ElementContext& context,
                                                                 const std::vector<int64_t>& nothing, OutputReceiver<int64_t>& out) {
                                if (context.processing_time().us < until_us) throw std::runtime_error("away");
                                out.Output(number + static_cast<int64_t>(nothing.size()));
                              },
                              none)
                              .OnFailure(FailurePolicy::kRetry)
             | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre(7, 8, 9));
  });
}

TEST(SideInputDoFnTest, AFailureThatNobodyAskedForFailsTheJob) {
  const Status status = RunInMode({}, [](Pipeline& pipeline) {
    const Limited in = Numbers(pipeline);
    in.numbers | "Look" >> ParDoWithSideInputs<int64_t>(
                               [](int64_t number, int64_t limit, OutputReceiver<int64_t>&) {
                                 if (number > limit) throw std::runtime_error("over the limit");
                               },
                               in.limit);
  });
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'Look' failed on an element of window [1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z): over the limit"));
}

}  // namespace
}  // namespace hornbeam
