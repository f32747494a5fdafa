#include "engine/epoch/live_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hornbeam::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr OperatorId kState{1};
constexpr OperatorId kSink{2};

class LiveIndexTest : public ::testing::Test {
 protected:
  void Add(OperatorId op, uint32_t unit, EpochId epoch, uint64_t segment, uint64_t size_bytes) {
    index_.AddRecord({{op, unit}, epoch, {segment, 0}, false, false, size_bytes});
  }
  void Replace(OperatorId op, uint32_t unit, EpochId epoch, uint64_t segment, uint64_t size_bytes) {
    index_.AddRecord({{op, unit}, epoch, {segment, 0}, true, false, size_bytes});
  }
  void End(OperatorId op, uint32_t unit, EpochId epoch, uint64_t segment) {
    index_.AddRecord({{op, unit}, epoch, {segment, 0}, true, true, 12});
  }

  LiveIndex index_;
};

TEST_F(LiveIndexTest, ReplacingFreesOldSegments) {
  EXPECT_EQ(index_.FirstNeededSegment(9), 9u);
  Add(kState, 0, 1, 1, 100);
  Add(kState, 0, 2, 2, 10);
  Add(kState, 1, 3, 2, 20);
  EXPECT_EQ(index_.live_bytes(), 130u);
  EXPECT_EQ(index_.FirstNeededSegment(3), 1u);
  Replace(kState, 0, 4, 3, 50);
  EXPECT_EQ(index_.live_bytes(), 70u);
  EXPECT_EQ(index_.FirstNeededSegment(3), 2u);
  End(kState, 1, 5, 3);
  EXPECT_EQ(index_.FirstNeededSegment(3), 3u);
  End(kState, 0, 6, 4);
  EXPECT_EQ(index_.live_bytes(), 0u);
  EXPECT_EQ(index_.FirstNeededSegment(4), 4u);
}

TEST_F(LiveIndexTest, WhatIsAppendedMayBeGoneByRewriting) {
  Add(kState, 0, 1, 1, 100);
  Add(kState, 0, 2, 2, 50);
  EXPECT_EQ(index_.compact_bytes(), 0u) << "never written as a whole";
  Replace(kState, 0, 3, 3, 20);
  Replace(kState, 1, 3, 3, 7);
  EXPECT_EQ(index_.compact_bytes(), 27u);
  Add(kState, 0, 4, 3, 500);
  EXPECT_EQ(index_.live_bytes(), 527u);
  EXPECT_EQ(index_.compact_bytes(), 27u);
  Replace(kState, 0, 5, 4, 30);
  EXPECT_EQ(index_.compact_bytes(), 37u);
  End(kState, 0, 6, 4);
  End(kState, 1, 6, 4);
  EXPECT_EQ(index_.compact_bytes(), 0u);
}

TEST_F(LiveIndexTest, RewritingDoesNotMakeNotesAndUndeliveredRowsLess) {
  Add(kSink, 0, 1, 1, 10);
  index_.RetainFrom(kSink, 1);
  EXPECT_EQ(index_.compact_bytes(), 10u);
  Add(kSink, 0, 2, 2, 5);
  index_.AddNotes({kSink, 0}, false, {"one"}, 2);
  EXPECT_EQ(index_.compact_bytes(), 18u);
  index_.RetainFrom(kSink, 2);
  EXPECT_EQ(index_.compact_bytes(), 8u);
}

TEST_F(LiveIndexTest, TheUnitsOfTheOldestSegmentsComeFirst) {
  Add(kState, 5, 1, 2, 100);
  Add(kState, 6, 1, 1, 100);
  Add(kState, 6, 1, 3, 100);
  Add(kState, 7, 1, 1, 100);
  Add(kState, 8, 1, 4, 100);
  EXPECT_THAT(index_.OldestUnits(4, 1'000),
              ElementsAre(UnitKey{kState, 6}, UnitKey{kState, 7}, UnitKey{kState, 5}));
  EXPECT_THAT(index_.OldestUnits(4, 300), ElementsAre(UnitKey{kState, 6}, UnitKey{kState, 7}));
  EXPECT_THAT(index_.OldestUnits(4, 1), ElementsAre(UnitKey{kState, 6})) << "one at least";
  EXPECT_THAT(index_.OldestUnits(1, 1'000), IsEmpty()) << "the newest segment stays anyway";
}

TEST_F(LiveIndexTest, RetainFromFreesWhatWasDelivered) {
  Add(kSink, 0, 1, 1, 10);
  Add(kSink, 0, 2, 2, 10);
  Add(kState, 0, 2, 3, 10);
  index_.RetainFrom(kSink, 2);
  EXPECT_EQ(index_.FirstNeededSegment(9), 2u);
  EXPECT_THAT(index_.OldestUnits(9, 1'000), IsEmpty()) << "the sink's segment is in the way";
  index_.RetainFrom(kSink, 1);
  EXPECT_EQ(index_.FirstNeededSegment(9), 2u) << "marks only grow";
  index_.RetainFrom(kSink, 3);
  EXPECT_EQ(index_.FirstNeededSegment(9), 3u);
  EXPECT_THAT(index_.OldestUnits(9, 1'000), ElementsAre(UnitKey{kState, 0}));
  EXPECT_EQ(index_.live_bytes(), 10u);
}

TEST_F(LiveIndexTest, NotesHoldTheirSegmentUntilReplacedOrEnded) {
  index_.AddNotes({kSink, 0}, false, {"one"}, 1);
  index_.AddNotes({kSink, 0}, false, {"two"}, 2);
  index_.AddNotes({kSink, 1}, false, {"x"}, 2);
  EXPECT_EQ(index_.FirstNeededSegment(9), 1u);
  EXPECT_EQ(index_.live_bytes(), 7u);
  const auto notes = index_.NotesIn(1);
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0].payloads, ElementsAre("one", "two"));
  index_.AddNotes({kSink, 0}, true, {"one", "two"}, 3);
  EXPECT_EQ(index_.FirstNeededSegment(9), 2u);
  index_.AddNotes({kSink, 1}, true, {}, 3);
  EXPECT_EQ(index_.FirstNeededSegment(9), 3u);
  index_.AddNotes({kSink, 0}, true, {}, 3);
  EXPECT_EQ(index_.live_bytes(), 0u);
}

}  // namespace
}  // namespace hornbeam::engine
