// Every kind of trigger on one schedule, with the panes that come out written down, in every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TestStream<Event> Element(const TestStream<Event>& stream, int64_t value, int64_t s) {
  return stream.AddTimestamped({{{"k", value}, At(s)}});
}

// In the window [0 s, 10 s), with 100 s of allowed lateness: three elements in time, with the clock moving on, the end, three that
// are late, with the clock moving on.
TestStream<Event> Schedule() {
  TestStream<Event> s = TestStream<Event>().AdvanceWatermarkTo(At(0));
  s = Element(s, 1, 1);
  s = Element(s, 2, 2).AdvanceProcessingTime(Seconds(20));
  s = Element(s, 4, 3).AdvanceWatermarkTo(At(11));
  s = Element(s, 8, 4);
  s = Element(s, 16, 5).AdvanceProcessingTime(Seconds(20));
  return Element(s, 32, 6).AdvanceWatermarkToInfinity();
}

struct Golden {
  Trigger trigger;
  // Of each pane "timing index/non-speculative index = sum", and whether it is the first or the last.
  std::string discarding, accumulating;
};

std::string Panes(const std::vector<Collected<Event>>& elements) {
  const char* const timings[] = {"early", "on_time", "late", "unknown"};
  std::vector<std::string> panes;
  for (const Collected<Event>& e : elements) {
    panes.push_back(absl::StrCat(timings[static_cast<int>(e.pane.timing)], " ", e.pane.index, "/", e.pane.on_time_index, "=",
                                 e.value.value, e.pane.is_first ? " first" : "", e.pane.is_last ? " last" : ""));
  }
  return absl::StrJoin(panes, ", ");
}

const std::vector<Golden>& Goldens() {
  using T = Trigger;
  static const std::vector<Golden>* const goldens = new std::vector<Golden>{
      {T::Default(),
       "on_time 0/0=7 first, late 1/1=8, late 2/2=16, late 3/3=32",
       "on_time 0/0=7 first, late 1/1=15, late 2/2=31, late 3/3=63"},
      {T::AfterWatermark(),
       "on_time 0/0=7 first last",
       "on_time 0/0=7 first last"},
      {T::AfterWatermark().WithEarly(T::AfterCount(2)),
       "early 0/-1=3 first, on_time 1/0=4 last",
       "early 0/-1=3 first, on_time 1/0=7 last"},
      {T::AfterWatermark().WithLate(T::AfterCount(2)),
       "on_time 0/0=7 first, late 1/1=24, late 2/2=32 last",
       "on_time 0/0=7 first, late 1/1=31, late 2/2=63 last"},
      {T::AfterWatermark().WithEarly(T::AfterCount(1)).WithLate(T::AfterCount(1)),
       "early 0/-1=1 first, early 1/-1=2, early 2/-1=4, on_time 3/0=0, late 4/1=8, late 5/2=16, late 6/3=32",
       "early 0/-1=1 first, early 1/-1=3, early 2/-1=7, on_time 3/0=7, late 4/1=15, late 5/2=31, late 6/3=63"},
      {T::AfterWatermark().WithEarly(T::AfterProcessingTime(Seconds(10))).WithLate(T::AfterProcessingTime(Seconds(10))),
       "early 0/-1=3 first, on_time 1/0=4, late 2/1=24, late 3/2=32 last",
       "early 0/-1=3 first, on_time 1/0=7, late 2/1=31, late 3/2=63 last"},
      {T::AfterCount(2),
       "early 0/-1=3 first last",
       "early 0/-1=3 first last"},
      {T::Repeatedly(T::AfterCount(2)),
       "early 0/-1=3 first, on_time 1/0=12, late 2/1=48",
       "early 0/-1=3 first, on_time 1/0=15, late 2/1=63"},
      {T::AfterProcessingTime(Seconds(10)),
       "early 0/-1=3 first last",
       "early 0/-1=3 first last"},
      {T::Repeatedly(T::AfterProcessingTime(Seconds(10))),
       "early 0/-1=3 first, on_time 1/0=28, late 2/1=32 last",
       "early 0/-1=3 first, on_time 1/0=31, late 2/1=63 last"},
      {T::Repeatedly(T::AfterAny({T::AfterCount(3), T::AfterProcessingTime(Seconds(10))})),
       "early 0/-1=3 first, on_time 1/0=28, late 2/1=32 last",
       "early 0/-1=3 first, on_time 1/0=31, late 2/1=63 last"},
      {T::Repeatedly(T::AfterAll({T::AfterCount(2), T::AfterProcessingTime(Seconds(10))})),
       "early 0/-1=3 first, on_time 1/0=28, late 2/1=32 last",
       "early 0/-1=3 first, on_time 1/0=31, late 2/1=63 last"},
      {T::AfterEach({T::AfterCount(1), T::AfterCount(2), T::AfterCount(1)}),
       "early 0/-1=1 first, early 1/-1=6, late 2/0=8 last",
       "early 0/-1=1 first, early 1/-1=7, late 2/0=15 last"},
      {T::AfterEach({T::AfterCount(2), T::Repeatedly(T::AfterWatermark())}),
       "early 0/-1=3 first, on_time 1/0=4, late 2/1=8, late 3/2=16, late 4/3=32",
       "early 0/-1=3 first, on_time 1/0=7, late 2/1=15, late 3/2=31, late 4/3=63"},
      {T::Repeatedly(T::AfterCount(1)).OrFinally(T::AfterCount(5)),
       "early 0/-1=1 first, early 1/-1=2, early 2/-1=4, late 3/0=8, late 4/1=16 last",
       "early 0/-1=1 first, early 1/-1=3, early 2/-1=7, late 3/0=15, late 4/1=31 last"},
      {T::Repeatedly(T::AfterCount(2)).OrFinally(T::AfterWatermark()),
       "early 0/-1=3 first, on_time 1/0=4 last",
       "early 0/-1=3 first, on_time 1/0=7 last"},
      {T::Always(),
       "early 0/-1=1 first, early 1/-1=2, early 2/-1=4, on_time 3/0=0, late 4/1=8, late 5/2=16, late 6/3=32",
       "early 0/-1=1 first, early 1/-1=3, early 2/-1=7, on_time 3/0=7, late 4/1=15, late 5/2=31, late 6/3=63"},
      {T::Never(),
       "on_time 0/0=63 first last",
       "on_time 0/0=63 first last"},
  };
  return *goldens;
}

TEST(TriggerPanesTest, EveryTrigger) {
  for (const Golden& golden : Goldens()) {
    for (const bool accumulating : {false, true}) {
      ForEachMode(2, [&](const TestMode& mode) {
        SCOPED_TRACE(absl::StrCat(ToString(golden.trigger), accumulating ? ", accumulating, " : ", discarding, ", ToString(mode)));
        Collector<Event> sums;
        const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
          pipeline.options().allow_unsafe_triggers = true;
          WindowInto window = WindowInto(FixedWindows(Seconds(10))).Triggering(golden.trigger).WithAllowedLateness(Seconds(100));
          if (accumulating) window = window.AccumulatingFiredPanes();
          pipeline | "Events" >> Schedule() | "Window" >> window | "Sum" >> CombinePerKey(Sum<int64_t>())
                   | "Collect" >> Collect(&sums);
        });
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(Panes(sums.elements()), accumulating ? golden.accumulating : golden.discarding);
      });
    }
  }
}

// The trigger of a job that writes a file for every thousand messages, or every two minutes.
TEST(TriggerPanesTest, AThousandElementsOrTwoMinutes) {
  const Trigger trigger = Trigger::Repeatedly(Trigger::AfterAny({Trigger::AfterCount(1000), Trigger::AfterProcessingTime(Seconds(120))}));
  TestStream<Event> stream = TestStream<Event>().AdvanceWatermarkTo(At(0));
  const auto add = [&](int64_t count) {
    std::vector<TimestampedValue<Event>> elements;
    for (int64_t i = 0; i < count; ++i) elements.push_back({{"k", 1}, At(i % 120)});
    stream = stream.AddTimestamped(std::move(elements));
  };
  add(2300);
  stream = stream.AdvanceProcessingTime(Seconds(119));
  add(10);
  stream = stream.AdvanceProcessingTime(Seconds(1));
  add(999);
  stream = stream.AdvanceProcessingTime(Seconds(120));
  add(5);
  stream = stream.AdvanceWatermarkToInfinity();
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Event> sums;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> stream
               | "Window" >> WindowInto(FixedWindows(Seconds(120))).Triggering(trigger).DiscardingFiredPanes()
               | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Panes(sums.elements()),
              "early 0/-1=1000 first, early 1/-1=1000, early 2/-1=310, early 3/-1=999, on_time 4/0=5 last");
  });
}

}  // namespace
}  // namespace hornbeam
