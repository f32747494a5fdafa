// Timers in DoFns: when they fire, in which order, what they hold, and that a restart changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

using Event = KV<std::string, int64_t>;
using Events = TestStream<Event>;
EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
int64_t SecondsOf(EventTime t) { return t.us / 1'000'000; }
TimestampedValue<Event> Ev(const std::string& key, int64_t value, int64_t at_s) { return {{key, value}, At(at_s)}; }

// Runs `fn` over the events in windows of ten seconds, in every mode, and compares its outputs, each as "text @timestamp".
template <typename Fn>
void Expect(const Events& events, const WindowInto& windowing, const Fn& fn, const std::vector<std::string>& expected) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> texts;
    Collector<std::string> failures;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto all = pipeline | "Events" >> events | "Window" >> windowing | "Fn" >> ParDo<std::string>(fn).WithFailures();
      all.main() | "Texts" >> Collect(&texts);
      all.failures() | "Error" >> Map([](const FailedElement& failed) { return failed.error; }) | "Failures" >> Collect(&failures);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::string> actual;
    for (const auto& element : texts.elements()) {
      actual.push_back(absl::StrCat(element.value, " @", SecondsOf(element.timestamp)));
    }
    for (const std::string& failure : failures.values()) actual.push_back(absl::StrCat("failed: ", failure));
    EXPECT_THAT(actual, UnorderedElementsAreArray(expected));
  });
}

WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

// Buffers, and flushes at the end of the window, with the first timestamp.
struct Buffer : StatefulDoFn {
  BagState<int64_t> values{"values"};
  ValueState<EventTime> first{"first"};
  EventTimer flush{"flush"};
  void ProcessElement(const Event& event, const ElementContext& context, OutputReceiver<std::string>&) {
    if (first.IsEmpty() || context.timestamp() < first.Read()) first.Write(context.timestamp());
    values.Add(event.value);
    flush.WithOutputTimestamp(first.Read()).Set(context.window().MaxTimestamp());
  }
  void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<std::string>& out) {
    if (!timer.Is(flush)) throw std::logic_error("another timer");
    out.Output(absl::StrCat(key, " ", absl::StrJoin(values.Take(), "+"), " in ", SecondsOf(timer.window().start)));
    first.Clear();
  }
};

TEST(TimerTest, AnEventTimerFiresWhenTheWatermarkHasPassedIt) {
  Expect(Events()
             .AdvanceWatermarkTo(At(0))
             .AddTimestamped({Ev("a", 1, 3), Ev("a", 2, 2), Ev("b", 3, 4), Ev("a", 4, 12)})
             .AdvanceWatermarkTo(At(10) - Micros(1))
             .AddTimestamped({Ev("a", 5, 9)})  // the timer is not due yet
             .AdvanceWatermarkTo(At(10))
             .AddTimestamped({Ev("a", 6, 1)})  // too late
             .AdvanceWatermarkToInfinity(),
         Tens(), Buffer(), {"a 1+2+5 in 0 @2", "b 3 in 0 @4", "a 4 in 10 @12"});
}

// A late element in a window whose timer has fired sets it again, to a time that is over: it fires at once.
TEST(TimerTest, ATimerThatIsSetToATimeThatIsOverFiresAtOnce) {
  Expect(Events()
             .AdvanceWatermarkTo(At(0))
             .AddTimestamped({Ev("a", 1, 1)})
             .AdvanceWatermarkTo(At(11))
             .AddTimestamped({Ev("a", 2, 2), Ev("a", 3, 3), Ev("b", 4, 4)})
             .AdvanceWatermarkTo(At(40))
             .AddTimestamped({Ev("a", 5, 5)})  // too late
             .AdvanceWatermarkToInfinity(),
         Tens().WithAllowedLateness(Seconds(20)), Buffer(), {"a 1 in 0 @1", "a 2 in 0 @2", "a 3 in 0 @3", "b 4 in 0 @4"});
}

// The output timestamp holds the watermark: a grouping downstream has what the timer puts out, and on time.
TEST(TimerTest, ATimerHoldsTheWatermarkAtItsOutputTimestamp) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, int64_t>> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> Events()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({Ev("a", 1, 3), Ev("b", 1, 5), Ev("c", 1, 26)})
                                 .AdvanceWatermarkTo(At(12))
                                 .AdvanceWatermarkTo(At(29))
                                 .AdvanceWatermarkToInfinity()
               | "Thirty" >> WindowInto(FixedWindows(Seconds(30))) | "Buffer" >> ParDo<std::string>(Buffer())
               | "Fives" >> WindowInto(FixedWindows(Seconds(5)))
               | "Pair" >> Map([](const std::string&) { return Event{"n", 1}; })
               | "Count" >> CombinePerKey(Sum<int64_t>()) | "Counts" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<int64_t> windows;
    for (const auto& element : counts.elements()) {
      EXPECT_EQ(element.pane.timing, PaneTiming::kOnTime);
      windows.push_back(SecondsOf(element.window.start));
    }
    EXPECT_THAT(windows, UnorderedElementsAre(0, 5, 25));
  });
}

// Ticks every so often until the window ends.
struct Loop : StatefulDoFn {
  EventTimer tick{"tick"};
  ValueState<int64_t> ticks{"ticks"};
  void ProcessElement(const Event&, OutputReceiver<std::string>&) { tick.SetRelative(Seconds(3)); }
  void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<std::string>& out) {
    ticks.Write(ticks.Read() + 1);
    out.Output(absl::StrCat(key, ticks.Read()));
    tick.SetRelative(Seconds(3));
  }
};

TEST(TimerTest, ALoopingTimerEndsWithItsWindow) {
  const std::vector<std::string> expected{"a1 @4", "a2 @7", "a3 @9"};  // the third at the last instant of the window
  Expect(Events().AdvanceWatermarkTo(At(0)).AddTimestamped({Ev("a", 1, 1)}).AdvanceWatermarkToInfinity(), Tens(), Loop(), expected);
  Expect(Events()
             .AdvanceWatermarkTo(At(0))
             .AddTimestamped({Ev("a", 1, 1)})
             .AdvanceWatermarkTo(At(5))
             .AdvanceWatermarkTo(At(8))
             .AdvanceWatermarkTo(At(9))
             .AdvanceWatermarkTo(At(15))
             .AdvanceWatermarkToInfinity(),
         Tens(), Loop(), expected);
}

// Timers of a family fire in the order of their times; those set inside a callback that are due as well fire in the same go.
struct Family : StatefulDoFn {
  EventTimerFamily alarms{"alarms"};
  BagState<std::string> order{"order"};
  EventTimer last{"last"};
  void ProcessElement(const Event& event, const ElementContext& context, OutputReceiver<std::string>&) {
    alarms.Get(absl::StrCat("tag", event.value)).Set(At(event.value));
    alarms.Get("cleared").Set(At(2));
    alarms.Get("cleared").Clear();
    last.Set(context.window().MaxTimestamp());
  }
  void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<std::string>& out) {
    if (timer.Is(last)) return out.Output(absl::StrJoin(order.Read(), " "));
    order.Add(std::string(timer.tag()));
    if (timer.tag() == "tag3") {
      alarms.Get("from 3").Set(At(5));
      alarms.Get("tag7").Set(At(8));  // in place of the one at 7
    }
  }
};

TEST(TimerTest, DueTimersFireInTheOrderOfTheirTimes) {
  const std::vector<std::string> expected{"tag1 tag3 from 3 tag6 tag7 @9"};
  const Events events =
      Events().AdvanceWatermarkTo(At(0)).AddTimestamped({Ev("a", 6, 0), Ev("a", 7, 0), Ev("a", 1, 0), Ev("a", 3, 0)});
  Expect(events.AdvanceWatermarkToInfinity(), Tens(), Family(), expected);
  Expect(events.AdvanceWatermarkTo(At(4)).AdvanceWatermarkTo(At(8)).AdvanceWatermarkToInfinity(), Tens(), Family(), expected);
}

// What Beam refuses (SimpleDoFnRunner): event timers and output timestamps behind the expiry of the window.
struct SetsTooLate : StatefulDoFn {
  EventTimer timer{"late"};
  ProcessingTimer processing{"processing"};
  ValueState<int64_t> seen{"seen"};
  void ProcessElement(const Event& event, const ElementContext& context, OutputReceiver<std::string>& out) {
    seen.Write(seen.Read() + 1);
    const EventTime end = context.window().MaxTimestamp();
    switch (event.value) {
      case 1: timer.Set(end + Seconds(5)); break;               // the expiry, with the lateness
      case 2: timer.Set(end + Seconds(5) + Micros(1)); break;
      case 3: timer.SetRelative(Hours(1)); break;               // moved to the expiry
      case 4: processing.WithOutputTimestamp(end + Seconds(6)).SetRelative(Seconds(1)); break;
      case 5: timer.WithOutputTimestamp(end + Seconds(6)).Set(end); break;
    }
    out.Output(absl::StrCat("set ", event.key, seen.Read()));
  }
  void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat("fired ", key));
  }
};

TEST(TimerTest, BehindTheExpiryOfTheWindowNothingIsSet) {
  Expect(Events()
             .AdvanceWatermarkTo(At(0))
             .AddTimestamped({Ev("a", 1, 1), Ev("a", 2, 2), Ev("b", 3, 3), Ev("c", 4, 4), Ev("c", 5, 5)})
             .AdvanceWatermarkTo(At(12))
             .AdvanceWatermarkToInfinity(),
         Tens().WithAllowedLateness(Seconds(5)), SetsTooLate(),
         {"set a1 @1", "fired a @14", "set b1 @3", "fired b @14",
          "failed: the event timer 'late' cannot be set to 1970-01-01T00:00:15Z, which is after its window expires at "
          "1970-01-01T00:00:14.999999Z",
          "failed: the timer 'processing' cannot have the output timestamp 1970-01-01T00:00:15.999999Z, which is after its window "
          "expires at 1970-01-01T00:00:14.999999Z",
          "failed: the timer 'late' cannot have the output timestamp 1970-01-01T00:00:15.999999Z, which is after its window "
          "expires at 1970-01-01T00:00:14.999999Z"});
}

// Fires some time after the first element of a batch by the clock.
struct AfterAWhile : StatefulDoFn {
  BagState<int64_t> values{"values"};
  ProcessingTimer flush{"flush"};
  void ProcessElement(const Event& event, OutputReceiver<std::string>&) {
    if (values.IsEmpty()) flush.SetRelative(Seconds(30));
    values.Add(event.value);
    if (event.value == 0) {
      values.Clear();
      flush.Clear();
    }
  }
  void OnTimer(const std::string& key, const TimerContext&, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat(key, " ", absl::StrJoin(values.Take(), "+")));
  }
};

TEST(TimerTest, AProcessingTimerFiresByTheClock) {
  Expect(Events()
             .AddTimestamped({Ev("a", 1, 5), Ev("b", 2, 6), Ev("c", 3, 7)})
             .AdvanceProcessingTime(Seconds(29))
             .AddTimestamped({Ev("a", 4, 3), Ev("b", 0, 8)})
             .AdvanceProcessingTime(Seconds(1))  // a and c; b was cleared
             .AddTimestamped({Ev("a", 5, 9)})
             .AdvanceProcessingTime(Seconds(29))
             .AdvanceProcessingTime(Seconds(1))
             .AddTimestamped({Ev("a", 6, 9)})  // its time does not come
             .AdvanceWatermarkToInfinity(),
         WindowInto(GlobalWindows()), AfterAWhile(), {"a 1+4 @5", "c 3 @7", "a 5 @9"});
}

// An aligned timer fires at the multiples of its period.
struct Aligned : StatefulDoFn {
  EventTimer timer{"timer"};
  void ProcessElement(const Event& event, OutputReceiver<std::string>&) { timer.SetRelative(Seconds(event.value), Seconds(4)); }
  void OnTimer(const std::string& key, const TimerContext& timer, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat(key, SecondsOf(timer.fire_time())));
  }
};

TEST(TimerTest, RelativeTimersAreAligned) {
  Expect(Events()
             .AdvanceWatermarkTo(At(0))
             .AddTimestamped({Ev("a", 0, 1), Ev("b", 0, 4), Ev("c", 3, 2)})
             .AdvanceWatermarkToInfinity(),
         WindowInto(FixedWindows(Seconds(100))), Aligned(), {"a4 @4", "b4 @4", "c8 @8"});
}

// WithoutHold: what is downstream does not wait for the timer.
struct NoHold : StatefulDoFn {
  ProcessingTimer timer{"timer"};
  void ProcessElement(const Event&, OutputReceiver<std::string>& out) {
    timer.WithoutHold().SetRelative(Hours(1));
    out.Output("now");
  }
  void OnTimer(const std::string&, const TimerContext&, OutputReceiver<std::string>& out) { out.Output("later"); }
};

TEST(TimerTest, ATimerWithoutHoldHoldsNothing) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> Events()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({Ev("a", 1, 1)})
                                 .AdvanceWatermarkTo(At(20))
                                 .AdvanceProcessingTime(Hours(2))
                                 .AdvanceWatermarkToInfinity()
               | "Fn" >> ParDo<std::string>(NoHold())
               | "Tens" >> Tens().WithAllowedLateness(Seconds(5)) | "Pair" >> Map([](const std::string& text) { return Event{text, 1}; })
               | "Count" >> CombinePerKey(Sum<int64_t>()) | "Counts" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Event{"now", 1}));  // what comes later is too late
  });
}

struct NoOnTimer : StatefulDoFn {
  EventTimer timer{"timer"};
  void ProcessElement(const Event&, OutputReceiver<std::string>&) {}
};

TEST(TimerTest, ATimerThatNobodyHearsIsRefused) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  pipeline | "Events" >> Create<Event>(std::vector<Event>{{"a", 1}}) | "Fn" >> ParDo<std::string>(NoOnTimer());
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the DoFn declares the timer 'timer' and has no OnTimer"));
}

}  // namespace
}  // namespace hornbeam
