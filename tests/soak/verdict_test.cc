// The judge can fail: whatever is done to rows that were right is seen.
#include "verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace hornbeam::soak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr SoakPlan kPlan{.seed = 3, .events = 3000, .rate = 50};

std::vector<SoakRow> RightRows(const Expectation& expectation) {
  std::vector<SoakRow> rows;
  for (const Branch branch : kBranches) {
    for (const auto& [key, windows] : expectation.of(branch)) {
      for (const auto& [start, expected] : windows) {
        const Window window{start, expected.end};
        // In two panes, where it can be.
        const Totals first = expected.totals.events > 1 ? Totals{1, 5} : expected.totals;
        rows.push_back({branch, key, window, 0, first});
        if (first == expected.totals) continue;
        const Totals rest{expected.totals.events - 1, expected.totals.sum - 5};
        rows.push_back({branch, key, window, 1, branch == Branch::kSums ? expected.totals : rest});
      }
    }
  }
  return rows;
}

class VerdictTest : public testing::Test {
 protected:
  Verdict JudgeRows() const {
    return Judge(expectation_, absl::StrJoin(rows_, "\n", [](std::string* out, const SoakRow& row) { *out += ToString(row); }));
  }
  // The first row of the branch with that index of its pane.
  SoakRow& RowOf(Branch branch, int64_t pane) {
    return *std::find_if(rows_.begin(), rows_.end(), [&](const SoakRow& row) { return row.branch == branch && row.pane == pane; });
  }

  const Expectation expectation_{kPlan};
  std::vector<SoakRow> rows_ = RightRows(expectation_);
};

TEST_F(VerdictTest, WhatIsRightIsRight) {
  const Verdict verdict = JudgeRows();
  EXPECT_EQ(verdict.wrong, 0);
  EXPECT_GT(verdict.windows, 1000);
  EXPECT_EQ(verdict.rows, static_cast<int64_t>(rows_.size()));
  EXPECT_GT(expectation_.late(), 20);
  EXPECT_GT(expectation_.too_late(), 2);
}

TEST_F(VerdictTest, ARowThatIsMissingIsSeenInEveryBranch) {
  for (const Branch branch : kBranches) {
    rows_ = RightRows(expectation_);
    rows_.erase(rows_.begin() + (&RowOf(branch, 0) - rows_.data()));
    EXPECT_EQ(JudgeRows().wrong, 1) << ToString(branch);
  }
}

TEST_F(VerdictTest, ARowThatIsThereTwiceIsSeenInEveryBranch) {
  for (const Branch branch : kBranches) {
    for (const int64_t pane : {0, 1}) {
      rows_ = RightRows(expectation_);
      rows_.push_back(RowOf(branch, pane));
      EXPECT_EQ(JudgeRows().wrong, 1) << ToString(branch) << " pane " << pane;
    }
  }
}

TEST_F(VerdictTest, AnEventMoreOrLessIsSeenInEveryBranch) {
  for (const Branch branch : kBranches) {
    for (const Totals difference : {Totals{1, 0}, Totals{0, 1}, Totals{-1, -1}}) {
      rows_ = RightRows(expectation_);
      SoakRow& last = RowOf(branch, 1);
      last.totals.events += difference.events;
      last.totals.sum += difference.sum;
      EXPECT_EQ(JudgeRows().wrong, 1) << ToString(branch);
    }
  }
}

TEST_F(VerdictTest, ARowOfAnotherWindowOrKeyIsSeen) {
  SoakRow stray = RowOf(Branch::kTimed, 0);
  stray.window = {stray.window.start - Seconds(3600), stray.window.end - Seconds(3600)};
  rows_.push_back(stray);
  stray = RowOf(Branch::kSessions, 0);
  stray.window.end = stray.window.end + Micros(1);
  rows_.push_back(stray);
  stray = RowOf(Branch::kPriced, 0);
  stray.key = "nobody";
  rows_.push_back(stray);
  EXPECT_EQ(JudgeRows().wrong, 3);
}

TEST_F(VerdictTest, ALineThatIsNoRowIsSeen) {
  EXPECT_THAT(Judge(Expectation(SoakPlan{}), "sums key1 0 10 0 1").problems, ElementsAre(HasSubstr("not a row")));
  EXPECT_THAT(Judge(Expectation(SoakPlan{}), "sums key1 0 ten 0 1 1").problems, ElementsAre(HasSubstr("not a row")));
}

// Sessions as everybody knows them: in order, a gap ends one.
TEST(ExpectationTest, SessionsAreWhatASortFinds) {
  const Expectation expectation(kPlan);
  std::map<std::string, std::vector<std::pair<EventTime, int64_t>>> by_key;
  for (int64_t n = 0; n < kPlan.events; ++n) {
    const TimedEvent timed = EventOf(kPlan, n);
    if (timed.fate != Fate::kTooLate) by_key[timed.event.key].emplace_back(timed.time, timed.event.value);
  }
  for (auto& [key, events] : by_key) {
    std::sort(events.begin(), events.end());
    std::vector<std::pair<Window, Totals>> sessions;
    for (const auto& [time, value] : events) {
      if (sessions.empty() || time >= sessions.back().first.end) sessions.push_back({{time, time}, {}});
      sessions.back().first.end = time + kSessionGap;
      sessions.back().second.events += 1;
      sessions.back().second.sum += value;
    }
    const Expectation::Windows& windows = expectation.of(Branch::kSessions).at(key);
    ASSERT_EQ(windows.size(), sessions.size()) << key;
    for (const auto& [window, totals] : sessions) {
      ASSERT_TRUE(windows.contains(window.start));
      EXPECT_EQ(windows.at(window.start).end, window.end);
      EXPECT_EQ(windows.at(window.start).totals, totals);
    }
  }
}

}  // namespace
}  // namespace hornbeam::soak
