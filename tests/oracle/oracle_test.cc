// Several hundred random pipelines, always the same: the engine puts out what the reference runner
// does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign.h"

namespace hornbeam::oracle {
namespace {

TEST(OracleTest, RandomPipelinesGiveTheSamePanes) {
  const CampaignResult result = RunCampaign({.first = 1, .seeds = 2000, .modes = 3});
  EXPECT_THAT(result.failed_seeds, testing::IsEmpty()) << result.report;
  EXPECT_GT(result.whole_panes, 20000u);  // the generator still makes something to compare
  RecordProperty("summary", Summary(result));
}

}  // namespace
}  // namespace hornbeam::oracle
