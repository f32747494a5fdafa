// What surprises people in Beam, and is so here too: the panes stated in full, for both sides, the
// engine's in every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine_run.h"
#include "reference_runner.h"

namespace hornbeam::oracle {
namespace {

using model::AccumulationMode;
using model::EventTime;
using model::Seconds;
using model::Trigger;
using testing::UnorderedElementsAreArray;

StreamEvent Ev(int64_t value, int64_t at_s, const std::string& key = "a") {
  return {.elements = {{{key, value}, EventTime::FromSeconds(at_s)}}};
}
StreamEvent WatermarkTo(int64_t s) { return {.watermark = EventTime::FromSeconds(s)}; }

// Windows of ten seconds with a minute's lateness.
model::WindowingStrategy Tens(Trigger trigger = Trigger::Default()) {
  model::WindowingStrategy windowing;
  windowing.window_fn = model::WindowFn::Fixed(Seconds(10));
  windowing.allowed_lateness = Seconds(60);
  windowing.trigger = std::move(trigger);
  return windowing;
}

PipelineSpec Grouped(std::vector<StreamEvent> schedule, model::WindowingStrategy windowing,
                     Step::Kind kind = Step::Kind::kGroupByKey) {
  PipelineSpec spec;
  spec.schedule = std::move(schedule);
  Step window{.kind = Step::Kind::kWindowInto};
  window.windowing = std::move(windowing);
  spec.steps = {window, {.kind = kind, .inputs = {0}}};
  return spec;
}

// "a {1, 2} late 1/1 last", "@3" where the timestamp is not the window's last instant, in seconds.
std::string Short(const Pane& pane) {
  const char* const timings[] = {"early", "on time", "late", "no firing"};
  std::string text = absl::StrCat(pane.key, " {", absl::StrJoin(pane.values, ", "), "} ",
                                  timings[static_cast<int>(pane.pane.timing)], " ", pane.pane.index,
                                  "/", pane.pane.on_time_index, pane.pane.is_last ? " last" : "");
  if (pane.timestamp != pane.window.MaxTimestamp()) {
    absl::StrAppend(&text, " @", pane.timestamp.us / 1'000'000);
  }
  return text;
}

std::vector<std::string> LastStep(const PipelineSpec& spec, const Outputs& outputs) {
  std::vector<std::string> lines;
  const auto at = outputs.find(static_cast<int>(spec.steps.size()) - 1);
  if (at == outputs.end()) return lines;
  for (const Pane& pane : at->second) lines.push_back(Short(pane));
  return lines;
}

void ExpectPanes(const PipelineSpec& spec, const std::vector<std::string>& expected) {
  EXPECT_THAT(LastStep(spec, RunReference(spec)), UnorderedElementsAreArray(expected));
  ForEachMode(1, [&](const TestMode& mode) {
    const auto outputs = RunOnEngine(spec, mode);
    ASSERT_TRUE(outputs.ok()) << ToString(mode) << ": " << outputs.status();
    EXPECT_THAT(LastStep(spec, *outputs), UnorderedElementsAreArray(expected)) << ToString(mode);
  });
}

// A grouping knows nothing of ids: the same element again, late, is one more.
TEST(SurprisesTest, ALateDuplicateIsCountedAgainWhereAnAccumulatingGroupingRefires) {
  model::WindowingStrategy windowing = Tens();
  windowing.accumulation_mode = AccumulationMode::kAccumulating;
  ExpectPanes(Grouped({Ev(5, 1), WatermarkTo(10), Ev(5, 1)}, windowing, Step::Kind::kSum),
              {"a {5} on time 0/0", "a {10} late 1/1"});
}

// A sum of sums that accumulate holds the first ones again.
TEST(SurprisesTest, AccumulatingPanesAreCountedAgainBehindTheGrouping) {
  model::WindowingStrategy windowing =
      Tens(Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(1)));
  windowing.allowed_lateness = {};
  windowing.accumulation_mode = AccumulationMode::kAccumulating;
  PipelineSpec spec = Grouped({Ev(1, 1), Ev(2, 2)}, windowing, Step::Kind::kSum);
  spec.steps.push_back({.kind = Step::Kind::kSum, .inputs = {1}});
  // Of 1, 3 and 3 again on time, each plus the digest's one.
  ExpectPanes(spec, {"a {2} early 0/-1", "a {6} early 1/-1", "a {10} early 2/-1",
                     "a {10} on time 3/0 last"});
}

TEST(SurprisesTest, AnEmptyOnTimePaneComesThoughAllHasComeEarly) {
  ExpectPanes(Grouped({Ev(1, 1), WatermarkTo(10)}, Tens(Trigger::AfterWatermark()
                                                            .WithEarly(Trigger::AfterCount(1))
                                                            .WithLate(Trigger::AfterCount(1)))),
              {"a {1} early 0/-1", "a {} on time 1/0"});
}

// AfterWatermark without late firings finishes with the on-time pane, whatever lateness is allowed.
TEST(SurprisesTest, ATriggerThatIsOverDropsWhatIsNotTooLate) {
  ExpectPanes(Grouped({Ev(1, 1), WatermarkTo(10), Ev(2, 2)}, Tens(Trigger::AfterWatermark())),
              {"a {1} on time 0/0 last"});
}

// With a count and no watermark in the trigger, the on-time pane is whichever comes first after the
// end of the window.
TEST(SurprisesTest, TheOnTimePaneOfACountMayComeLongAfterTheEnd) {
  ExpectPanes(Grouped({Ev(1, 1), WatermarkTo(30), Ev(2, 2)},
                      Tens(Trigger::Repeatedly(Trigger::AfterCount(2)))),
              {"a {1, 2} on time 0/0"});
}

TEST(SurprisesTest, AKeyThatIsLateAltogetherHasNoOnTimePane) {
  ExpectPanes(Grouped({WatermarkTo(10), Ev(1, 1), Ev(2, 2)}, Tens()),
              {"a {1} late 0/0", "a {2} late 1/1"});
}

// Behind a grouping a count is one: an element there is a pane that has waited already.
TEST(SurprisesTest, TheSecondGroupingFiresForEachPaneOfTheFirst) {
  model::WindowingStrategy windowing = Tens(Trigger::Repeatedly(Trigger::AfterCount(2)));
  windowing.allowed_lateness = {};
  windowing.on_time_behavior = model::OnTimeBehavior::kFireIfNonEmpty;
  PipelineSpec spec =
      Grouped({Ev(1, 1), Ev(2, 2), Ev(3, 3), Ev(4, 4)}, windowing, Step::Kind::kSum);
  spec.steps.push_back({.kind = Step::Kind::kGroupByKey, .inputs = {1}});
  ExpectPanes(spec, {"a {4} early 0/-1", "a {8} early 1/-1"});
}

// An accumulating pane that closes its window repeats what has been put out.
TEST(SurprisesTest, AClosingPaneThatIsAlwaysWantedRepeatsWhatWasSaid) {
  model::WindowingStrategy windowing = Tens();
  windowing.accumulation_mode = AccumulationMode::kAccumulating;
  windowing.closing_behavior = model::ClosingBehavior::kFireAlways;
  ExpectPanes(Grouped({Ev(1, 1), WatermarkTo(10)}, windowing),
              {"a {1} on time 0/0", "a {1} late 1/1 last"});
}

// The trigger counts on over firings of its other part: OrFinally's second trigger is not reset.
TEST(SurprisesTest, TheEndOfOrFinallyCountsOverAllPanes) {
  ExpectPanes(
      Grouped({Ev(1, 1), Ev(2, 2), Ev(3, 3), Ev(4, 4), Ev(5, 5), Ev(6, 6)},
              Tens(Trigger::Repeatedly(Trigger::AfterCount(2)).OrFinally(Trigger::AfterCount(5)))),
      {"a {1, 2} early 0/-1", "a {3, 4} early 1/-1", "a {5} early 2/-1 last"});
}

// ---- What random pipelines have found, at its smallest
// -------------------------------------------

// Every window is asked at its end, whatever its trigger, and Always says yes.
TEST(FoundTest, AlwaysHasAnEmptyOnTimePaneWhereLatenessIsAllowed) {
  ExpectPanes(Grouped({Ev(1, 1), WatermarkTo(10)}, Tens(Trigger::Always())),
              {"a {1} early 0/-1", "a {} on time 1/0"});
}

// The pane's own hold keeps the output watermark back, so what comes behind the input watermark may
// still move it.
TEST(FoundTest, LatestTakesWhatIsBehindTheWatermarkButNotBehindThePane) {
  model::WindowingStrategy windowing = Tens();
  windowing.timestamp_combiner = model::TimestampCombiner::kLatest;
  ExpectPanes(Grouped({Ev(1, 2), WatermarkTo(8), Ev(2, 5)}, windowing),
              {"a {1, 2} on time 0/0 @5"});
}

// It holds nothing, so nothing is on time when its pane comes after the end of the window.
TEST(FoundTest, AnElementBehindTheWatermarkHoldsNothingWithEarliest) {
  model::WindowingStrategy windowing = Tens(Trigger::Repeatedly(Trigger::AfterCount(2)));
  windowing.timestamp_combiner = model::TimestampCombiner::kEarliest;
  ExpectPanes(Grouped({WatermarkTo(8), Ev(1, 5), WatermarkTo(12), Ev(2, 6)}, windowing),
              {"a {1, 2} late 0/0"});
  windowing.timestamp_combiner = model::TimestampCombiner::kEndOfWindow;
  ExpectPanes(Grouped({WatermarkTo(8), Ev(1, 5), WatermarkTo(12), Ev(2, 6)}, windowing),
              {"a {1, 2} on time 0/0"});
}

// A restart does not ask the trigger again at the end of a window that had passed before.
TEST(FoundTest, ARestartDoesNotReachTheEndOfAWindowAgain) {
  const Trigger trigger = Trigger::AfterEach(
      {Trigger::AfterWatermark(), Trigger::AfterWatermark().WithLate(Trigger::AfterCount(2))});
  ExpectPanes(Grouped({WatermarkTo(21), Ev(1, 1), Ev(2, 1), Ev(3, 1), Ev(4, 1)}, Tens(trigger)),
              {"a {1} late 0/0", "a {2} late 1/1", "a {3, 4} late 2/2"});
}

// The last pane of the global window can be windowed anew: no window goes on behind the end of
// time.
TEST(FoundTest, FixedWindowsEndWithTheGlobalWindow) {
  PipelineSpec spec = Grouped({Ev(1, 1)}, {});
  Step window{.kind = Step::Kind::kWindowInto, .inputs = {1}};
  window.windowing.window_fn = model::WindowFn::Fixed(Seconds(22));
  spec.steps.push_back(window);
  spec.steps.push_back({.kind = Step::Kind::kSum, .inputs = {2}});
  ExpectPanes(spec, {"a {2} on time 0/0 last"});
  for (const Pane& pane : RunReference(spec).at(3)) {
    EXPECT_EQ(pane.window.MaxTimestamp(), EventTime::EndOfGlobalWindow());
  }
}

model::WindowingStrategy TenSecondSessions(Trigger trigger) {
  model::WindowingStrategy windowing = Tens(std::move(trigger));
  windowing.window_fn = model::WindowFn::Sessions(Seconds(10));
  return windowing;
}

// AfterProcessingTime is over in a merged window only if that window was there before.
TEST(FoundTest, AClockThatHasFiredIsOnAgainInAMergedSession) {
  const Trigger trigger = Trigger::AfterEach(
      {Trigger::AfterProcessingTime({}), Trigger::Repeatedly(Trigger::AfterCount(2))});
  ExpectPanes(Grouped({Ev(1, 0), Ev(2, 5)}, TenSecondSessions(trigger)),
              {"a {1} early 0/-1", "a {2} early 0/-1"});
}

// Of an AfterAny that has fired, what had not fired itself begins again in a merged window.
TEST(FoundTest, AnAfterAnyThatHasFiredIsOnAgainInAMergedSession) {
  const Trigger trigger =
      Trigger::AfterEach({Trigger::AfterAny({Trigger::AfterCount(2), Trigger::Default()}),
                          Trigger::Repeatedly(Trigger::AfterCount(1))});
  ExpectPanes(Grouped({Ev(1, 0), WatermarkTo(12), Ev(2, 5)}, TenSecondSessions(trigger)),
              {"a {1} on time 0/0", "a {2} on time 0/0"});
}

// The early trigger of a session that has ended is over, and so what others have counted for theirs
// is lost.
TEST(FoundTest, EarlyCountsAreLostWhereASessionMergesWithOneThatHasEnded) {
  const Trigger trigger =
      Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(2)).WithLate(Trigger::AfterCount(1));
  ExpectPanes(Grouped({Ev(1, 0), Ev(2, 11), WatermarkTo(12), Ev(3, 5)}, TenSecondSessions(trigger)),
              {"a {1} on time 0/0", "a {2, 3} on time 0/0"});
}

}  // namespace
}  // namespace hornbeam::oracle
