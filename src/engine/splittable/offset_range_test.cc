#include "engine/splittable/offset_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace hornbeam::engine {
namespace {

using testing::ElementsAre;

TEST(OffsetRange, IsSplitIntoPartsThatMakeItUp) {
  EXPECT_THAT((OffsetRange{0, 10}).Split(4), ElementsAre(OffsetRange{0, 4}, OffsetRange{4, 8}, OffsetRange{8, 10}));
  EXPECT_THAT((OffsetRange{5, 5}).Split(4), ElementsAre());
  EXPECT_THAT((OffsetRange{INT64_MAX - 3, INT64_MAX}).Split(2),
              ElementsAre(OffsetRange{INT64_MAX - 3, INT64_MAX - 1}, OffsetRange{INT64_MAX - 1, INT64_MAX}));
}

TEST(OffsetRangeTracker, IsDoneWhenTheLastOffsetIsClaimed) {
  OffsetRangeTracker tracker({10, 13});
  EXPECT_TRUE(tracker.TryClaim(10));
  EXPECT_FALSE(tracker.CheckDone().ok());
  EXPECT_EQ(tracker.CheckDone().message(), "offsets 11 to 12 were not claimed: return only after TryClaim was false, or Resume");
  EXPECT_TRUE(tracker.TryClaim(12));  // offsets may be left out
  EXPECT_TRUE(tracker.CheckDone().ok());
}

TEST(OffsetRangeTracker, IsDoneWhenAClaimBeyondItWasRefused) {
  OffsetRangeTracker tracker({0, 100});
  EXPECT_TRUE(tracker.TryClaim(0));
  EXPECT_FALSE(tracker.TryClaim(100));
  EXPECT_TRUE(tracker.CheckDone().ok());
  EXPECT_EQ(tracker.TrySplit(0), std::nullopt);
}

TEST(OffsetRangeTracker, AnEmptyRangeIsDone) { EXPECT_TRUE(OffsetRangeTracker({3, 3}).CheckDone().ok()); }

TEST(OffsetRangeTracker, ClaimsAscend) {
  OffsetRangeTracker tracker({10, 20});
  EXPECT_THROW(tracker.TryClaim(9), std::invalid_argument);
  EXPECT_TRUE(tracker.TryClaim(12));
  EXPECT_THROW(tracker.TryClaim(12), std::invalid_argument);
  EXPECT_TRUE(tracker.TryClaim(13));
}

TEST(OffsetRangeTracker, ASplitAtOnceKeepsWhatIsClaimed) {
  OffsetRangeTracker tracker({10, 20});
  ASSERT_TRUE(tracker.TryClaim(12));
  EXPECT_EQ(tracker.TrySplit(0), (OffsetRange{13, 20}));
  EXPECT_EQ(tracker.restriction(), (OffsetRange{10, 13}));
  EXPECT_FALSE(tracker.TryClaim(13));
  EXPECT_TRUE(tracker.CheckDone().ok());
}

TEST(OffsetRangeTracker, ASplitBeforeTheFirstClaimCutsEverythingOff) {
  OffsetRangeTracker tracker({10, 20});
  EXPECT_EQ(tracker.TrySplit(0), (OffsetRange{10, 20}));
  EXPECT_TRUE(tracker.CheckDone().ok());
  EXPECT_FALSE(tracker.TryClaim(10));
}

TEST(OffsetRangeTracker, ASplitInTheMiddleKeepsItsPartOfTheRest) {
  OffsetRangeTracker tracker({0, 100});
  ASSERT_TRUE(tracker.TryClaim(19));
  EXPECT_EQ(tracker.TrySplit(0.5), (OffsetRange{60, 100}));
  EXPECT_EQ(tracker.restriction(), (OffsetRange{0, 60}));
  EXPECT_TRUE(tracker.TryClaim(59));
  EXPECT_FALSE(tracker.TryClaim(60));
  EXPECT_EQ(OffsetRangeTracker({0, 10}).TrySplit(1), std::nullopt);
}

TEST(OffsetRangeTracker, AnEndlessRangeIsSplitToo) {
  OffsetRangeTracker tracker({0, OffsetRange::kEndless});
  ASSERT_TRUE(tracker.TryClaim(5));
  EXPECT_FALSE(tracker.is_bounded());
  EXPECT_EQ(tracker.TrySplit(0), (OffsetRange{6, OffsetRange::kEndless}));
  EXPECT_TRUE(tracker.is_bounded());
}

TEST(OffsetRangeTracker, ProgressCountsOffsets) {
  OffsetRangeTracker tracker({10, 30});
  EXPECT_EQ(tracker.GetProgress().completed, 0);
  EXPECT_EQ(tracker.GetProgress().remaining, 20);
  ASSERT_TRUE(tracker.TryClaim(14));
  EXPECT_EQ(tracker.GetProgress().completed, 5);
  EXPECT_EQ(tracker.GetProgress().remaining, 15);
}

}  // namespace
}  // namespace hornbeam::engine
