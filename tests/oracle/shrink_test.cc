#include "shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "random_spec.h"

namespace hornbeam::oracle {
namespace {

bool HasCount(const model::Trigger& trigger) {
  return trigger.kind == model::Trigger::Kind::kAfterCount ||
         std::any_of(trigger.children.begin(), trigger.children.end(), HasCount);
}

// Stands for an engine that fails on a grouping below a count.
bool FailsOnCounts(const Failure& failure) {
  return std::any_of(failure.spec.steps.begin(), failure.spec.steps.end(),
                     [&](const Step& step) {
                       return step.is_grouping() &&
                              HasCount(WindowingOf(failure.spec, step.inputs[0]).trigger);
                     }) &&
         !failure.spec.schedule.empty() && failure.mode.workers > 1;
}

TEST(ShrinkTest, LeavesWhatIsNeededToFail) {
  int shrunk = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Failure failure{RandomSpec(seed),
                    {.batch_size = 3, .workers = 4, .crashes = true, .seed = seed}};
    if (!FailsOnCounts(failure)) continue;
    ++shrunk;
    failure = Shrink(failure, FailsOnCounts);
    EXPECT_TRUE(FailsOnCounts(failure));
    EXPECT_EQ(failure.spec.steps.size(), 2u) << ToString(failure.spec);
    EXPECT_EQ(failure.spec.steps[0].windowing.trigger, model::Trigger::AfterCount(1));
    EXPECT_EQ(failure.spec.schedule.size(), 1u);
    EXPECT_LE(failure.spec.schedule[0].elements.size(), 1u);
    EXPECT_EQ(failure.mode.workers, 2);
    EXPECT_FALSE(failure.mode.crashes);
  }
  EXPECT_GT(shrunk, 10);
}

}  // namespace
}  // namespace hornbeam::oracle
