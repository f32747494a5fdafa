#include "services/bigquery/core/insert_id_window.h"

#include <gtest/gtest.h>

namespace hornbeam::services::bigquery {
namespace {

constexpr int64_t kSecond = 1'000'000;

TEST(InsertIdWindowTest, RemembersForAMinuteAtLeastAndTwoAtMost) {
  ManualClock clock(59 * kSecond);
  InsertIdWindow window(&clock);
  EXPECT_TRUE(window.Add("t", "a"));
  EXPECT_FALSE(window.Add("t", "a"));
  EXPECT_TRUE(window.Add("u", "a"));
  clock.AdvanceMicros(60 * kSecond);
  EXPECT_FALSE(window.Add("t", "a"));
  clock.AdvanceMicros(61 * kSecond);
  EXPECT_TRUE(window.Add("t", "a"));
}

TEST(InsertIdWindowTest, ALongPauseForgetsAll) {
  ManualClock clock(0);
  InsertIdWindow window(&clock);
  window.Add("t", "a");
  clock.AdvanceMicros(181 * kSecond);
  EXPECT_TRUE(window.Add("t", "a"));
}

TEST(InsertIdWindowTest, ARowThatWasNotWrittenMayComeAgain) {
  ManualClock clock(0);
  InsertIdWindow window(&clock);
  window.Add("t", "a");
  window.Remove("t", "a");
  EXPECT_TRUE(window.Add("t", "a"));
}

}  // namespace
}  // namespace hornbeam::services::bigquery
