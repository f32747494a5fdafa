// Random streams under random windowing: every mode gives what one worker gives, one element at a time, without a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using Event = KV<std::string, int64_t>;

int64_t Below(Rng& rng, int64_t n) { return static_cast<int64_t>(rng.Below(static_cast<uint64_t>(n))); }

// Triggers whose panes follow from the order of a key's elements and of the watermark.
Trigger RandomTrigger(Rng& rng) {
  const int64_t n = 1 + Below(rng, 4);
  switch (rng.Below(10)) {
    case 0: return Trigger::Default();
    case 1: return Trigger::AfterWatermark();
    case 2: return Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(n)).WithLate(Trigger::AfterCount(1 + Below(rng, 3)));
    case 3: return Trigger::AfterWatermark().WithLate(Trigger::AfterCount(n));
    case 4: return Trigger::Repeatedly(Trigger::AfterCount(n));
    case 5: return Trigger::AfterCount(n);
    case 6: return Trigger::Repeatedly(Trigger::AfterAny({Trigger::AfterCount(n), Trigger::AfterProcessingTime(Seconds(20))}));
    case 7: return Trigger::AfterWatermark().WithEarly(Trigger::AfterProcessingTime(Seconds(15)));
    case 8: return Trigger::AfterEach({Trigger::AfterCount(n), Trigger::Repeatedly(Trigger::AfterWatermark())});
    default: return Trigger::Repeatedly(Trigger::AfterCount(n)).OrFinally(Trigger::AfterWatermark());
  }
}

struct Case {
  TestStream<Event> events;
  WindowInto windowing{GlobalWindows()};
  bool accumulating = false;
  int64_t lateness_s = 0;
  std::string description;
};

WindowInto RandomWindowing(Rng& rng, Case* random) {
  const Trigger trigger = RandomTrigger(rng);
  const int64_t size_s = 3 + Below(rng, 20), lateness_s = rng.OneIn(3) ? 0 : Below(rng, 40);
  const bool global = rng.OneIn(6), accumulating = rng.OneIn(2), on_time_if_any = rng.OneIn(3), closing = rng.OneIn(4);
  const auto combiner = static_cast<TimestampCombiner>(rng.OneIn(2) ? 0 : rng.Below(3));
  WindowInto windowing = WindowInto(global ? GlobalWindows() : FixedWindows(Seconds(size_s), Seconds(Below(rng, 3))))
                             .Triggering(trigger)
                             .WithAllowedLateness(Seconds(lateness_s))
                             .WithTimestampCombiner(combiner);
  windowing = accumulating ? windowing.AccumulatingFiredPanes() : windowing.DiscardingFiredPanes();
  if (on_time_if_any) windowing = windowing.WithOnTimeBehavior(model::OnTimeBehavior::kFireIfNonEmpty);
  if (closing) windowing = windowing.WithClosingBehavior(model::ClosingBehavior::kFireAlways);
  random->accumulating = accumulating;
  random->lateness_s = lateness_s;
  absl::StrAppend(&random->description, "; ", model::ToString(trigger), ", ", global ? "global" : absl::StrCat(size_s, " s"), ", lateness ",
                  lateness_s, accumulating ? ", accumulating" : "", ", combiner ", static_cast<int>(combiner));
  return windowing;
}

Case RandomCase(uint64_t seed) {
  Rng rng(seed);
  Case random;
  random.description = absl::StrCat("case ", seed);
  random.windowing = RandomWindowing(rng, &random);
  const int64_t keys = 1 + Below(rng, 6);
  int64_t watermark_s = 0, value = 1;
  random.events = random.events.AdvanceWatermarkTo(EventTime::FromSeconds(0));
  for (int64_t steps = 3 + Below(rng, 12); steps > 0; --steps) {
    switch (rng.Below(4)) {
      case 0:
        watermark_s += Below(rng, 15);
        random.events = random.events.AdvanceWatermarkTo(EventTime::FromSeconds(watermark_s));
        break;
      case 1: random.events = random.events.AdvanceProcessingTime(Seconds(1 + Below(rng, 30))); break;
      default: {
        std::vector<TimestampedValue<Event>> elements;
        for (int64_t n = 1 + Below(rng, 6); n > 0; --n) {
          const int64_t at_s = std::max<int64_t>(0, watermark_s - 25 + Below(rng, 50));
          elements.push_back({{absl::StrCat("k", Below(rng, keys)), value++}, EventTime::FromSeconds(at_s)});
        }
        random.events = random.events.AddTimestamped(elements);
      }
    }
  }
  random.events = random.events.AdvanceWatermarkToInfinity();
  return random;
}

std::string Line(const std::string& key, const std::string& value, EventTime timestamp, const Window& window,
                 const PaneInfo& pane) {
  return absl::StrCat(key, " {", value, "} ", model::ToString(window), " at ", model::ToString(timestamp), " pane ",
                      static_cast<int>(pane.timing), " ", pane.index, "/", pane.on_time_index, pane.is_first ? " first" : "",
                      pane.is_last ? " last" : "");
}

// The panes of two groupings, and what comes in all of a second one upon the first.
std::vector<std::string> PanesOf(const Case& random, const TestMode& mode) {
  const bool check_second = !random.accumulating && random.lateness_s == 0;
  Collector<KV<std::string, std::vector<int64_t>>> groups, again;
  Collector<Event> sums;
  const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
    pipeline.options().allow_unsafe_triggers = true;
    const auto windowed = pipeline | "Events" >> random.events | "Window" >> random.windowing;
    const auto grouped = windowed | "Group" >> GroupByKey();
    grouped | "Groups" >> Collect(&groups);
    windowed | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    // By the same key, so that the order of what comes is the key's own.
    grouped | "Size" >> Map([](const KV<std::string, std::vector<int64_t>>& group) {
                return Event{group.key, static_cast<int64_t>(group.value.size())};
              })
            | "Again" >> GroupByKey() | "Sizes" >> Collect(&again);
  });
  EXPECT_TRUE(status.ok()) << status;
  std::vector<std::string> lines;
  for (const auto& e : groups.elements()) {
    lines.push_back(Line("group " + e.value.key, absl::StrJoin(e.value.value, "+"), e.timestamp, e.window, e.pane));
  }
  for (const auto& e : sums.elements()) {
    lines.push_back(Line("sum " + e.value.key, absl::StrCat(e.value.value), e.timestamp, e.window, e.pane));
  }
  // A second grouping loses and doubles nothing; how its panes are cut hangs on what other keys of the first one hold.
  std::map<std::string, int64_t> sizes;
  for (const auto& e : again.elements()) {
    for (const int64_t size : e.value.value) sizes[e.value.key] += size;
  }
  if (check_second) {
    for (const auto& [key, size] : sizes) lines.push_back(absl::StrCat("again ", key, " ", size));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(RandomPipelineTest, EveryModeGivesTheSame) {
  size_t panes = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Case random = RandomCase(seed);
    SCOPED_TRACE(random.description);
    const std::vector<std::string> expected = PanesOf(random, {1, 1, false, 1});
    panes += expected.size();
    for (const size_t batch_size : {size_t{1}, size_t{1024}}) {
      for (const int workers : {1, 4}) {
        for (const bool crashes : {false, true}) {
          const TestMode mode{batch_size, workers, crashes, seed};
          SCOPED_TRACE(ToString(mode));
          ASSERT_EQ(PanesOf(random, mode), expected);
        }
      }
    }
  }
  EXPECT_GT(panes, 5000u);
}

}  // namespace
}  // namespace hornbeam
