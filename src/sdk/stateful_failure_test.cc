// What becomes of an element, a timer and an expiry on which a DoFn with state throws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Event = KV<std::string, int64_t>;
using Events = TestStream<Event>;
EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
TimestampedValue<Event> Ev(const std::string& key, int64_t value, int64_t at_s) { return {{key, value}, At(at_s)}; }
WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

// Throws in the middle of what it does, in the place that it is told, until the clock has reached a time.
struct Fragile : StatefulDoFn {
  std::string where;
  int64_t until_us = 0;
  BagState<int64_t> values{"values"};
  ValueState<int64_t> fired{"fired"};
  EventTimer flush{"flush"};

  Fragile(std::string in, int64_t until) : where(std::move(in)), until_us(until) {}

  void MayThrow(const std::string& here, ProcessingTime now) const {
    if (here == where && now.us < until_us) throw std::runtime_error("away");
  }
  void ProcessElement(const Event& event, const ElementContext& context, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat("in ", event.value));
    values.Add(event.value);
    flush.Set(context.window().MaxTimestamp());
    if (event.value == 13) {
      flush.Clear();
      values.Clear();
      values.Add(-1);
      MayThrow("element", context.processing_time());
    }
  }
  void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<std::string>& out) {
    fired.Write(fired.Read() + 1);
    std::vector<int64_t> all = values.Take();
    std::sort(all.begin(), all.end());
    out.Output(absl::StrCat(key, " ", absl::StrJoin(all, "+"), " fired ", fired.Read()));
    flush.Set(timer.fire_time());  // taken back when it throws
    if (key == "bad") MayThrow("timer", timer.processing_time());
    flush.Clear();
    values.Add(1000);
  }
  void OnWindowExpiration(const std::string& key, const ExpirationContext& context, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat(key, " ends with ", absl::StrJoin(values.Read(), "+")));
    if (key == "bad") MayThrow("expiration", context.processing_time());
  }
};

Events Story() {
  return Events()
      .AdvanceWatermarkTo(At(0))
      .AddTimestamped({Ev("bad", 1, 1), Ev("good", 2, 2)})
      .AddTimestamped({Ev("bad", 13, 3)})
      .AddTimestamped({Ev("bad", 4, 4)})
      .AdvanceWatermarkTo(At(12))
      .AddTimestamped({Ev("bad", 21, 15), Ev("good", 5, 16)})
      .AdvanceProcessingTime(Seconds(20))
      .AdvanceWatermarkTo(At(18))
      .AdvanceProcessingTime(Minutes(10))
      .AdvanceProcessingTime(Minutes(10))
      .AdvanceWatermarkToInfinity();
}

struct Outcome {
  Status status;
  std::vector<std::string> texts;
  std::vector<std::string> failures;
};

Outcome Tell(const TestMode& mode, const std::string& where, FailurePolicy policy) {
  Collector<std::string> texts, failures;
  int64_t began_us = 0;
  Outcome outcome;
  outcome.status = RunInMode(mode, [&](Pipeline& pipeline) {
    if (began_us == 0) began_us = pipeline.options().clock->NowMicros();
    const auto all = pipeline | "Events" >> Story() | "Tens" >> Tens()
                     | "Fragile" >> ParDo<std::string>(Fragile(where, began_us + 60'000'000)).WithFailures().OnFailure(policy);
    all.main() | "Texts" >> Collect(&texts);
    all.failures() | "Error" >> Map([](const FailedElement& failed) { return failed.error; }) | "Failures" >> Collect(&failures);
  });
  outcome.texts = texts.values();
  outcome.failures = failures.values();
  return outcome;
}

TEST(StatefulFailureTest, ParkedWorkIsDoneOnceAndOverTheStateThatWasThere) {
  ForEachMode(2, [](const TestMode& mode) {
    for (const char* where : {"nowhere", "timer", "expiration"}) {
      SCOPED_TRACE(absl::StrCat(ToString(mode), ", throws in ", where));
      const Outcome outcome = Tell(mode, where, FailurePolicy::kRetry);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_THAT(outcome.texts,
                  UnorderedElementsAre("in 1", "in 2", "in 13", "in 4", "in 21", "in 5", "bad -1+4 fired 1", "good 2 fired 1",
                                       "bad 21 fired 1", "good 5 fired 1", "bad ends with 1000", "good ends with 1000",
                                       "bad ends with 1000", "good ends with 1000"));
    }
  });
}

// The element is in its window when it is tried again, though the watermark has passed the window's end meanwhile.
TEST(StatefulFailureTest, AParkedElementKeepsItsWindowOpen) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    const Outcome outcome = Tell(mode, "element", FailurePolicy::kRetry);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    // It comes behind 4, and clears what was there, the timer as well.
    EXPECT_THAT(outcome.texts,
                UnorderedElementsAre("in 1", "in 2", "in 13", "in 4", "in 21", "in 5", "good 2 fired 1", "bad 21 fired 1",
                                     "good 5 fired 1", "bad ends with -1", "good ends with 1000", "bad ends with 1000",
                                     "good ends with 1000"));
  });
}

TEST(StatefulFailureTest, ADeadLetterLeavesNothingOfItself) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Outcome outcome = Tell(mode, "element", FailurePolicy::kDeadLetter);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_THAT(outcome.failures, UnorderedElementsAre("away"));
    EXPECT_THAT(outcome.texts,
                UnorderedElementsAre("in 1", "in 2", "in 4", "in 21", "in 5", "bad 1+4 fired 1", "good 2 fired 1", "bad 21 fired 1",
                                     "good 5 fired 1", "bad ends with 1000", "good ends with 1000", "bad ends with 1000",
                                     "good ends with 1000"));
    // A timer that fails is gone; the state that it would have taken is there at the end.
    outcome = Tell(mode, "timer", FailurePolicy::kDeadLetter);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_THAT(outcome.failures, UnorderedElementsAre("timer 'flush': away"));
    EXPECT_THAT(outcome.texts,
                UnorderedElementsAre("in 1", "in 2", "in 13", "in 4", "in 21", "in 5", "good 2 fired 1", "bad 21 fired 1",
                                     "good 5 fired 1", "bad ends with -1+4", "good ends with 1000", "bad ends with 1000",
                                     "good ends with 1000"));
  });
}

TEST(StatefulFailureTest, FailNamesTransformPlaceWindowAndKey) {
  const TestMode mode{1024, 1, false, 1};
  EXPECT_THAT(std::string(Tell(mode, "element", FailurePolicy::kFail).status.message()),
              HasSubstr("'Fragile' failed on an element of window [1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z): away"));
  EXPECT_THAT(std::string(Tell(mode, "timer", FailurePolicy::kFail).status.message()),
              HasSubstr("'Fragile': timer 'flush' failed in window [1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z): away; the key: "
                        "\\003bad"));
  EXPECT_THAT(std::string(Tell(mode, "expiration", FailurePolicy::kFail).status.message()),
              HasSubstr("'Fragile': OnWindowExpiration failed in window"));
}

// What is parked shows, and is there after a restart: first nothing mends, then all does.
TEST(StatefulFailureTest, WhatIsParkedShowsAndHoldsTheWatermark) {
  for (const std::string where : {"element", "timer", "expiration"}) {
    SCOPED_TRACE(where);
    const int64_t value = where == "element" ? 13 : 1;
    ManualClock clock(1'000'000);
    MemoryFileSystem fs;
    Collector<std::string> texts;
    for (const bool mended : {false, true}) {
      PipelineOptions options;
      options.clock = &clock;
      options.fs = &fs;
      options.state_dir = "/job";
      options.workers = mended ? 1 : 3;
      options.deterministic_seed = 3;
      Pipeline pipeline(options);
      const auto out = pipeline | "Events" >> Events()
                                                  .AdvanceWatermarkTo(At(0))
                                                  .AddTimestamped({Ev("bad", value, 3)})
                                                  .AdvanceWatermarkToInfinity()
                       | "Tens" >> Tens()
                       | "Fragile" >> ParDo<std::string>(Fragile(where, mended ? 0 : INT64_MAX)).OnFailure(FailurePolicy::kRetry);
      out | "Texts" >> Collect(&texts);
      const auto job = pipeline.MakeJob();
      ASSERT_TRUE(job.ok()) << job.status();
      const Status status = (*job)->Run();
      const auto snapshot = (*job)->Snapshot();
      const auto step = std::find_if(snapshot.steps.begin(), snapshot.steps.end(), [](const auto& s) { return s.name == "Fragile"; });
      if (mended) {
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(step->parked.count, 0);
        EXPECT_EQ(step->output_watermark, EventTime::Max());
        EXPECT_THAT(texts.values(), testing::Contains(absl::StrCat("in ", value)));
        continue;
      }
      EXPECT_FALSE(status.ok());  // nothing can move: the clock stands
      EXPECT_EQ(step->parked.count, 1);
      EXPECT_THAT(step->parked.error, HasSubstr("away"));
      EXPECT_EQ(step->parked.holds, step->output_watermark);
      EXPECT_EQ(step->output_watermark, where == "element" ? At(3) : At(10) - Micros(1));
    }
  }
}

// A timer of the clock that has failed keeps its window as well, over a restart too.
struct FailsByTheClock : StatefulDoFn {
  int64_t until_us = 0;
  ProcessingTimer timer{"timer"};
  BagState<int64_t> values{"values"};
  explicit FailsByTheClock(int64_t until) : until_us(until) {}
  void ProcessElement(const Event& event, OutputReceiver<std::string>&) {
    values.Add(event.value);
    timer.SetRelative(Seconds(1));
  }
  void OnTimer(const std::string&, const TimerContext& timer, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat("flushed ", values.Take().size()));
    if (timer.processing_time().us < until_us) throw std::runtime_error("not yet");
  }
};

TEST(StatefulFailureTest, AParkedTimerOfTheClockKeepsItsWindow) {
  ForEachMode(4, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> texts;
    int64_t began_us = 0;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      if (began_us == 0) began_us = pipeline.options().clock->NowMicros();
      pipeline | "Events" >> Events()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2)})
                                 .AdvanceProcessingTime(Seconds(2))
                                 .AdvanceWatermarkTo(At(50))
                                 .AddTimestamped({Ev("b", 3, 51)})
                                 .AdvanceProcessingTime(Minutes(10))
                                 .AdvanceProcessingTime(Minutes(10))
                                 .AdvanceWatermarkToInfinity()
               | "Tens" >> Tens()
               | "Fn" >> ParDo<std::string>(FailsByTheClock(began_us + 60'000'000)).OnFailure(FailurePolicy::kRetry)
               | "Texts" >> Collect(&texts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(texts.values(), UnorderedElementsAre("flushed 2", "flushed 1"));
  });
}

// A parked timer that an element sets anew is parked no longer.
struct SetAnew : StatefulDoFn {
  EventTimer timer{"timer"};
  ValueState<int64_t> mended{"mended"};
  void ProcessElement(const Event& event, OutputReceiver<std::string>&) {
    mended.Write(event.value);
    timer.Set(At(event.value));
  }
  void OnTimer(const std::string&, const TimerContext& timer, OutputReceiver<std::string>& out) {
    if (mended.Read() == 2) throw std::runtime_error("not yet");
    out.Output(absl::StrCat("fired at ", timer.fire_time().us / 1'000'000));
  }
};

TEST(StatefulFailureTest, AParkedTimerThatIsSetAnewIsParkedNoLonger) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> texts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> Events()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({Ev("a", 2, 1)})
                                 .AdvanceWatermarkTo(At(12))
                                 .AddTimestamped({Ev("a", 7, 3)})  // not late: time has stood still
                                 .AdvanceWatermarkToInfinity()
               | "Tens" >> Tens() | "Fn" >> ParDo<std::string>(SetAnew()).OnFailure(FailurePolicy::kRetry) | "Texts" >> Collect(&texts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(texts.values(), UnorderedElementsAre("fired at 7"));
  });
}

}  // namespace
}  // namespace hornbeam
