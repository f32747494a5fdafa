#include "resource_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "kill_schedule.h"

namespace hornbeam::soak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ResourceBounds kBounds{.warm_up_s = 10, .growth = 1.05, .growth_bytes = 1000, .state_bytes = 500};

// A process a hundred seconds old at the end, then one that is killed after twenty.
std::vector<ResourceSample> Samples(const std::function<int64_t(double age_s)>& rss) {
  std::vector<ResourceSample> samples;
  for (double s = 0; s <= 100; ++s) samples.push_back({s, s, rss(s), 400});
  for (double s = 0; s <= 20; ++s) samples.push_back({101 + s, s, rss(s), 400});
  return samples;
}

TEST(ResourceUseTest, MemoryThatStaysIsFine) {
  const ResourceVerdict verdict = JudgeResources(Samples([](double s) { return s < 5 ? 300'000 : 100'000 + int64_t(s) % 7; }), kBounds);
  EXPECT_THAT(verdict.problems, IsEmpty());
  EXPECT_EQ(verdict.longest_life_s, 100);
  EXPECT_EQ(verdict.most_rss_bytes, 300'000);
  EXPECT_EQ(verdict.early_rss_bytes, 100'006) << "without the warm-up";
}

TEST(ResourceUseTest, MemoryThatGrowsIsSeen) {
  const auto samples = Samples([](double s) { return 100'000 + static_cast<int64_t>(s * 200); });
  EXPECT_THAT(JudgeResources(samples, kBounds).problems, ElementsAre(HasSubstr("memory grows: in the longest life of a process, 100 s")));
}

TEST(ResourceUseTest, AStateDirectoryThatGrowsIsSeen) {
  std::vector<ResourceSample> samples = Samples([](double) { return 100'000; });
  samples[3].state_bytes = 501;
  EXPECT_THAT(JudgeResources(samples, kBounds).problems, ElementsAre(HasSubstr("the state directory had")));
}

TEST(ResourceUseTest, LivesThatAreTooShortSayNothing) {
  std::vector<ResourceSample> samples = Samples([](double) { return 100'000; });
  samples.resize(9);
  EXPECT_THAT(JudgeResources(samples, kBounds).problems, ElementsAre(HasSubstr("long enough")));
}

TEST(ResourceUseTest, ReadsThisProcess) {
  const auto rss = RssOf(getpid());
  ASSERT_TRUE(rss.ok()) << rss.status();
  EXPECT_GT(*rss, 1 << 20);
  EXPECT_EQ(RssOf(1 << 30).status().code(), absl::StatusCode::kNotFound);
}

TEST(KillScheduleTest, KillsAtRandomButForACalm) {
  const std::vector<double> moments = KillMoments(3600, 10, 7);
  EXPECT_GT(moments.size(), 120u);
  EXPECT_TRUE(std::is_sorted(moments.begin(), moments.end()));
  for (const double moment : moments) EXPECT_TRUE(moment <= 0.3 * 3600 || moment >= 0.75 * 3600) << moment;
  EXPECT_LT(moments.back(), 0.97 * 3600);
  EXPECT_EQ(moments, KillMoments(3600, 10, 7));
  EXPECT_NE(moments, KillMoments(3600, 10, 8));
  EXPECT_THAT(KillMoments(3600, 0, 7), IsEmpty());
}

}  // namespace
}  // namespace hornbeam::soak
