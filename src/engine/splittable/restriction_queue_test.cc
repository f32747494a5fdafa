#include "engine/splittable/restriction_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hornbeam::engine {
namespace {

using testing::ElementsAre;

constexpr OperatorId kOp{7};

model::EventTime At(int64_t s) { return model::EventTime::FromSeconds(s); }
model::ProcessingTime Now(int64_t s) { return {s * 1'000'000}; }

// A log that keeps what each unit's records are since the last that replaced all.
class Log {
 public:
  void Take(const EpochRecords& records) {
    RecordReader reader(records.bytes());
    RecordView record;
    while (reader.Next(&record)) {
      if (record.replaces) units_[record.key.unit].clear();
      if (!record.payload.empty()) units_[record.key.unit].emplace_back(record.replaces, std::string(record.payload));
      if (units_[record.key.unit].empty()) units_.erase(record.key.unit);
    }
    EXPECT_TRUE(reader.ok());
  }
  void Mark(RestrictionQueue& queue) {
    EpochRecords records;
    queue.LogChanges(kOp, &records);
    Take(records);
  }
  Status RestoreTo(RestrictionQueue* queue) const {
    for (const auto& [unit, records] : units_) {
      for (const auto& [replaces, record] : records) HB_RETURN_IF_ERROR(queue->Restore(unit, replaces, record));
    }
    return absl::OkStatus();
  }
  size_t units() const { return units_.size(); }

 private:
  std::map<uint32_t, std::vector<std::pair<bool, std::string>>> units_;
};

// All that is due, in the order of its turns.
std::vector<std::string> TakeAll(RestrictionQueue& queue, model::ProcessingTime now) {
  std::vector<std::string> all;
  while (const auto number = queue.PopDue(now)) {
    all.push_back(queue.payload(*number));
    queue.Finish(*number);
  }
  return all;
}

TEST(RestrictionQueue, TakesTurnsAndWaitsForDelays) {
  RestrictionQueue queue;
  queue.Add(1, At(5), "a");
  queue.Add(2, At(3), "b");
  const auto a = queue.PopDue(Now(0));
  queue.Requeue(*a, RestrictionQueue::kAtOnce, At(6), "a2");
  const auto b = queue.PopDue(Now(0));
  EXPECT_EQ(queue.payload(*b), "b");
  queue.Requeue(*b, Now(10), At(4), "b2");
  EXPECT_TRUE(queue.has_work());
  EXPECT_THAT(TakeAll(queue, Now(9)), ElementsAre("a2"));
  EXPECT_FALSE(queue.has_work());
  EXPECT_EQ(queue.NextDue(), Now(10));
  EXPECT_THAT(TakeAll(queue, Now(10)), ElementsAre("b2"));
  EXPECT_EQ(queue.NextDue(), model::ProcessingTime::Never());
}

TEST(RestrictionQueue, HoldsTheLeastAndNeverGoesBack) {
  RestrictionQueue queue;
  EXPECT_EQ(queue.HeldTime(), model::EventTime::Max());
  queue.Add(1, At(5), "a");
  const auto a = queue.PopDue(Now(0));
  EXPECT_EQ(queue.HeldTime(), At(5)) << "while it is being processed";
  queue.Requeue(*a, RestrictionQueue::kAtOnce, At(2), "a2");
  EXPECT_EQ(queue.HeldTime(), At(5));
  queue.Add(1, At(1), "b");
  EXPECT_EQ(queue.HeldTime(), At(1));
  TakeAll(queue, Now(0));
  EXPECT_EQ(queue.HeldTime(), model::EventTime::Max());
}

TEST(RestrictionQueue, ComesBackFromTheLog) {
  Log log;
  RestrictionQueue queue;
  queue.Add(1, At(5), "a");
  queue.Add(2, At(3), "b");
  queue.Add(2, At(4), "c");
  log.Mark(queue);
  queue.Requeue(*queue.PopDue(Now(0)), Now(10), At(6), "a2");
  queue.Finish(*queue.PopDue(Now(0)));
  log.Mark(queue);
  RestrictionQueue restored;
  ASSERT_TRUE(log.RestoreTo(&restored).ok());
  EXPECT_EQ(restored.size(), 2);
  EXPECT_EQ(restored.HeldTime(), At(4));
  EXPECT_THAT(TakeAll(restored, Now(9)), ElementsAre("c"));
  EXPECT_THAT(TakeAll(restored, Now(10)), ElementsAre("a2"));
}

TEST(RestrictionQueue, UnitsOfTwoWorkersMeetOnOne) {
  Log log;
  RestrictionQueue one, two;
  one.Add(0, At(0), "a");
  two.Add(1, At(0), "b");
  log.Mark(one);
  log.Mark(two);
  RestrictionQueue both;
  ASSERT_TRUE(log.RestoreTo(&both).ok());
  both.Add(0, At(0), "c");
  log.Mark(both);
  RestrictionQueue again;
  ASSERT_TRUE(log.RestoreTo(&again).ok());
  EXPECT_THAT(TakeAll(again, Now(0)), testing::UnorderedElementsAre("a", "b", "c"));
}

TEST(RestrictionQueue, AUnitWithoutRestrictionsLeavesNothingInTheLog) {
  Log log;
  RestrictionQueue queue;
  queue.Add(1, At(0), "a");
  log.Mark(queue);
  EXPECT_EQ(log.units(), 1);
  TakeAll(queue, Now(0));
  log.Mark(queue);
  EXPECT_EQ(log.units(), 0);
}

TEST(RestrictionQueue, AWholeUnitReplacesWhatWasThere) {
  Log log;
  RestrictionQueue queue;
  queue.Add(1, At(0), "a");
  queue.Add(1, At(0), "b");
  log.Mark(queue);
  EpochRecords records;
  queue.LogAll(kOp, 1, &records);
  log.Take(records);
  RestrictionQueue restored;
  ASSERT_TRUE(log.RestoreTo(&restored).ok());
  EXPECT_THAT(TakeAll(restored, Now(0)), ElementsAre("a", "b"));
}

TEST(RestrictionQueue, AMalformedRecordIsRefused) {
  EpochRecords records;
  RestrictionQueue queue;
  queue.Add(1, At(0), "payload");
  queue.LogChanges(kOp, &records);
  RecordReader reader(records.bytes());
  RecordView record;
  ASSERT_TRUE(reader.Next(&record));
  for (size_t size = 1; size < record.payload.size(); ++size) {
    RestrictionQueue restored;
    EXPECT_FALSE(restored.Restore(1, false, record.payload.substr(0, size)).ok()) << size;
  }
  RestrictionQueue other_unit;
  EXPECT_FALSE(other_unit.Restore(2, false, record.payload).ok());
  RestrictionQueue unknown_operation;
  EXPECT_FALSE(unknown_operation.Restore(1, false, "\x09\x01").ok());
}

}  // namespace
}  // namespace hornbeam::engine
