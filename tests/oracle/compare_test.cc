// The oracle sees what it is there to see.
#include "compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check.h"
#include "reference_runner.h"

namespace hornbeam::oracle {
namespace {

using model::EventTime;
using model::Trigger;
using testing::HasSubstr;
using testing::IsEmpty;

// Three panes of one key: 1 and 2 early, 3 on time.
PipelineSpec ThreePanes() {
  PipelineSpec spec;
  for (int64_t i = 1; i <= 3; ++i) {
    spec.schedule.push_back({.elements = {{{"a", i}, EventTime::FromSeconds(i)}}});
  }
  Step window{.kind = Step::Kind::kWindowInto};
  window.windowing.window_fn = model::WindowFn::Fixed(model::Seconds(10));
  window.windowing.trigger = Trigger::AfterWatermark().WithEarly(Trigger::AfterCount(1));
  spec.steps = {window, {.kind = Step::Kind::kGroupByKey, .inputs = {0}}};
  return spec;
}

// The difference after `change` has been made to the engine's panes.
template <typename Change>
std::string After(Change change, Promised promised = Promised::kPanes) {
  const PipelineSpec spec = ThreePanes();
  const Outputs reference = RunReference(spec);
  Outputs engine = reference;
  change(engine.at(1));
  std::vector<Promise> promises(2);
  promises[1].promised = promised;
  return Difference(spec, promises, reference, engine);
}

TEST(CompareTest, TheSamePanesInAnotherOrderAreTheSame) {
  EXPECT_THAT(After([](std::vector<Pane>& panes) { std::swap(panes[0], panes[2]); }), IsEmpty());
}

TEST(CompareTest, EveryPartOfAPaneCounts) {
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes.pop_back(); }), HasSubstr("  - a {"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes.push_back(panes[0]); }),
              HasSubstr("  + a {1}"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].key = "b"; }), HasSubstr("  + b {1}"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) {
                panes[0].values = {1, 1};
              }),
              HasSubstr("+ a {1, 1}"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].window.end.us += 1; }),
              HasSubstr("+ a"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].timestamp.us += 1; }),
              HasSubstr("+ a"));
  EXPECT_THAT(
      After([](std::vector<Pane>& panes) { panes[0].pane.timing = model::PaneTiming::kLate; }),
      HasSubstr("late 0/-1"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].pane.index = 7; }), HasSubstr("7/-1"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].pane.on_time_index = 7; }),
              HasSubstr("0/7"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].pane.is_first = false; }),
              HasSubstr("+ a"));
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes[0].pane.is_last = true; }),
              HasSubstr("last"));
}

TEST(CompareTest, AUnionKnowsNothingOfCutsAndAllOfValues) {
  const auto moved = [](std::vector<Pane>& panes) {
    panes[1].values.insert(panes[1].values.end(), panes[0].values.begin(), panes[0].values.end());
    panes.erase(panes.begin());
  };
  EXPECT_THAT(After(moved), testing::Not(IsEmpty()));
  EXPECT_THAT(After(moved, Promised::kUnion), IsEmpty());
  EXPECT_THAT(After([](std::vector<Pane>& panes) { panes.erase(panes.begin()); }, Promised::kUnion),
              HasSubstr("  - a {1, 2, 3}"));
}

TEST(CompareTest, WhatIsPromisedDependsOnWhatIsInFront) {
  PipelineSpec spec = ThreePanes();
  spec.steps.push_back({.kind = Step::Kind::kGroupByKey, .inputs = {1}});
  EXPECT_EQ((*PromisesOf(spec, {.workers = 4}))[2].promised, Promised::kPanes);
  // Late panes meet whichever watermark several workers have reached together.
  PipelineSpec late = spec;
  late.steps[0].windowing.allowed_lateness = model::Seconds(5);
  late.steps[0].windowing.trigger = Trigger::Default();
  EXPECT_EQ((*PromisesOf(late, {.workers = 4}))[2].promised, Promised::kUnion);
  EXPECT_EQ((*PromisesOf(late, {.workers = 1}))[2].promised, Promised::kPanes);
  EXPECT_EQ((*PromisesOf(late, {.workers = 1, .crashes = true}))[2].promised, Promised::kUnion);
  // Under new keys panes of different keys meet, in no order.
  PipelineSpec rekeyed = ThreePanes();
  rekeyed.steps.push_back({.kind = Step::Kind::kWithKeys, .inputs = {1}});
  rekeyed.steps.push_back({.kind = Step::Kind::kGroupByKey, .inputs = {2}});
  EXPECT_EQ((*PromisesOf(rekeyed, TestMode{}))[3].promised, Promised::kUnion);
  // Which element is first is then nobody's promise.
  rekeyed.steps[3].kind = Step::Kind::kDeduplicate;
  EXPECT_FALSE(PromisesOf(rekeyed, TestMode{}).ok());
}

}  // namespace
}  // namespace hornbeam::oracle
