#include "engine/progress/holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace hornbeam::engine {
namespace {

using model::EventTime;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TEST(HoldSetTest, NothingHeldHoldsNothingBack) {
  const HoldSet holds;
  EXPECT_EQ(holds.Min(), EventTime::Max());
}

TEST(HoldSetTest, TheLeastHoldCountsUntilItIsDropped) {
  HoldSet holds;
  const Hold late = holds.HoldAt(At(20));
  {
    const Hold early = holds.HoldAt(At(10));
    EXPECT_EQ(holds.Min(), At(10));
  }
  EXPECT_EQ(holds.Min(), At(20));
}

TEST(HoldSetTest, ATimeHeldTwiceIsHeldUntilBothAreDropped) {
  HoldSet holds;
  Hold a = holds.HoldAt(At(10));
  Hold b = holds.HoldAt(At(10));
  a.Release();
  a.Release();
  EXPECT_EQ(holds.Min(), At(10));
  EXPECT_EQ(holds.size(), 1u);
  b.Release();
  EXPECT_EQ(holds.Min(), EventTime::Max());
}

TEST(HoldSetTest, ATimeReleasedBelowTheTopCanBeHeldAgain) {
  HoldSet holds;
  Hold first = holds.HoldAt(At(10));
  Hold second = holds.HoldAt(At(20));
  second.Release();
  second = holds.HoldAt(At(20));
  first.Release();
  EXPECT_EQ(holds.Min(), At(20));
}

TEST(HoldTest, ItsOwnerMayMoveIt) {
  HoldSet holds;
  std::vector<Hold> owner;
  owner.push_back(holds.HoldAt(At(10)));
  Hold other = std::move(owner[0]);
  owner.clear();
  EXPECT_EQ(holds.Min(), At(10));
  other = holds.HoldAt(At(5));
  EXPECT_EQ(holds.Min(), At(5));
  other.MoveTo(At(30));
  EXPECT_EQ(holds.Min(), At(30));
  EXPECT_EQ(other.time(), At(30));
  EXPECT_FALSE(Hold().is_held());
}

TEST(HoldSetTest, AgreesWithALinearSearch) {
  Rng rng(7);
  HoldSet holds;
  std::vector<Hold> live;
  for (int step = 0; step < 20'000; ++step) {
    const size_t victim = live.empty() ? 0 : rng.Below(live.size());
    const EventTime t = At(static_cast<int64_t>(rng.Below(50)));
    if (live.empty() || (live.size() < 40 && rng.OneIn(2))) {
      live.push_back(holds.HoldAt(t));
    } else if (rng.OneIn(3)) {
      live[victim].MoveTo(t);
    } else {
      std::swap(live[victim], live.back());
      live.pop_back();
    }
    EventTime least = EventTime::Max();
    for (const Hold& hold : live) least = std::min(least, hold.time());
    ASSERT_EQ(holds.Min(), least) << "step " << step;
  }
}

}  // namespace
}  // namespace hornbeam::engine
