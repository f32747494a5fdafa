#include "engine/timers/timer_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace hornbeam::engine {
namespace {

using model::EventTime;
using model::KeyHash;
using model::ProcessingTime;
using model::Window;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }
TimerId Id(uint64_t key, int64_t window_start = 0, uint32_t tag = 0) {
  return {KeyHash{key, key << 56}, Window{At(window_start), At(window_start + 60)}, tag};
}

// The keys of the timers due up to `up_to`, in order.
std::vector<uint64_t> Pop(EventTimerQueue* queue, EventTime up_to) {
  std::vector<uint64_t> keys;
  while (const auto timer = queue->PopDue(up_to)) keys.push_back(timer->id.key.low);
  return keys;
}

using Keys = std::vector<uint64_t>;

TEST(TimerQueueTest, TimersComeOutByTimeThenAsTheyWereSet) {
  EventTimerQueue queue;
  queue.Set(Id(1), At(20), At(20));
  queue.Set(Id(2), At(10), At(10));
  queue.Set(Id(3), At(20), At(20));
  queue.Set(Id(4), At(10), At(10));
  queue.Set(Id(5), At(30), At(30));
  EXPECT_EQ(queue.NextTime(), At(10));
  EXPECT_EQ(Pop(&queue, At(9)), Keys{});
  EXPECT_EQ(Pop(&queue, At(20)), (Keys{2, 4, 1, 3}));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(TimerQueueTest, SettingAgainReplacesTheTimer) {
  EventTimerQueue queue;
  queue.Set(Id(1), At(10), At(1));
  queue.Set(Id(2), At(15), At(1));
  queue.Set(Id(1), At(20), At(2));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.Find(Id(1))->output_timestamp, At(2));
  EXPECT_EQ(Pop(&queue, At(15)), Keys{2});
  queue.Set(Id(1), At(5), At(3));
  EXPECT_EQ(Pop(&queue, At(5)), Keys{1});
  EXPECT_TRUE(queue.empty());
}

TEST(TimerQueueTest, SettingAgainPutsTheTimerBehindOthersOfItsTime) {
  EventTimerQueue queue;
  queue.Set(Id(1), At(10), At(10));
  queue.Set(Id(2), At(10), At(10));
  queue.Set(Id(1), At(10), At(10));
  EXPECT_EQ(Pop(&queue, At(10)), (Keys{2, 1}));
}

TEST(TimerQueueTest, KeyWindowAndTagTellTimersApart) {
  EventTimerQueue queue;
  queue.Set(Id(1, 0, 0), At(10), At(10));
  queue.Set(Id(2, 0, 0), At(10), At(10));
  queue.Set(Id(1, 60, 0), At(10), At(10));
  queue.Set(Id(1, 0, 1), At(10), At(10));
  EXPECT_EQ(queue.size(), 4u);
  EXPECT_TRUE(queue.Clear(Id(1, 60, 0)));
  EXPECT_FALSE(queue.Clear(Id(1, 60, 0)));
  EXPECT_EQ(queue.Find(Id(1, 60, 0)), std::nullopt);
  EXPECT_TRUE(queue.Find(Id(1, 0, 1)).has_value());
}

TEST(TimerQueueTest, AnEmptyQueueHasNoNextTime) {
  EXPECT_EQ(EventTimerQueue().NextTime(), EventTime::Max());
  EXPECT_EQ(ProcessingTimerQueue().NextTime(), ProcessingTime::Never());
}

TEST(TimerQueueTest, WhatATimerSetsMayBeDueAtOnce) {
  EventTimerQueue queue;
  queue.Set(Id(1), At(10), At(10));
  queue.Set(Id(2), At(12), At(12));
  EXPECT_EQ(queue.PopDue(At(20))->id, Id(1));
  queue.Set(Id(1), At(11), At(11));
  EXPECT_EQ(Pop(&queue, At(20)), (Keys{1, 2}));
}

TEST(TimerQueueTest, ARestoredQueueFiresInTheSameOrder) {
  Rng rng(23);
  EventTimerQueue queue;
  for (int i = 0; i < 500; ++i)
    queue.Set(Id(rng.Below(200)), At(static_cast<int64_t>(rng.Below(10))), At(0));
  std::string log;
  queue.ForEach([&](const Timer<EventTime>& timer) { EncodeTimer(timer, &log); });

  EventTimerQueue restored;
  ByteReader in(log);
  while (!in.done()) {
    Timer<EventTime> timer;
    ASSERT_TRUE(DecodeTimer(&in, &timer));
    restored.Restore(timer);
  }
  ASSERT_EQ(restored.size(), queue.size());
  queue.Set(Id(1'000), At(5), At(0));
  restored.Set(Id(1'000), At(5), At(0));
  while (const auto timer = queue.PopDue(At(100))) ASSERT_EQ(restored.PopDue(At(100)), timer);
  EXPECT_TRUE(restored.empty());
}

TEST(TimerQueueTest, EveryTruncationOfATimerIsNoticed) {
  std::string bytes;
  EncodeTimer(Timer<ProcessingTime>{Id(1), ProcessingTime{5}, At(7), 300}, &bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader in(std::string_view(bytes).substr(0, size));
    Timer<ProcessingTime> timer;
    EXPECT_FALSE(DecodeTimer(&in, &timer)) << size;
  }
}

// The reference: a multimap, which keeps equal times in the order of insertion, searched from end
// to end.
class Reference {
 public:
  void Set(const TimerId& id, ProcessingTime time, EventTime output) {
    Clear(id);
    timers_.emplace(time, std::pair{id, output});
  }
  bool Clear(const TimerId& id) {
    for (auto it = timers_.begin(); it != timers_.end(); ++it) {
      if (it->second.first == id) return timers_.erase(it), true;
    }
    return false;
  }
  std::optional<std::pair<TimerId, EventTime>> PopDue(ProcessingTime up_to) {
    if (timers_.empty() || timers_.begin()->first > up_to) return std::nullopt;
    const auto result = timers_.begin()->second;
    timers_.erase(timers_.begin());
    return result;
  }
  ProcessingTime NextTime() const {
    return timers_.empty() ? ProcessingTime::Never() : timers_.begin()->first;
  }
  size_t size() const { return timers_.size(); }

 private:
  std::multimap<ProcessingTime, std::pair<TimerId, EventTime>> timers_;
};

TEST(TimerQueueTest, AgreesWithAMultimap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ProcessingTimerQueue queue;
    Reference reference;
    int64_t now = 0;
    for (int step = 0; step < 3'000; ++step) {
      const TimerId id = Id(rng.Below(20), static_cast<int64_t>(rng.Below(3)) * 60,
                            static_cast<uint32_t>(rng.Below(2)));
      switch (rng.Below(8)) {
        case 0: ASSERT_EQ(queue.Clear(id), reference.Clear(id)); break;
        case 1: {
          now += static_cast<int64_t>(rng.Below(6));
          for (;;) {
            const auto timer = queue.PopDue({now});
            const auto expected = reference.PopDue({now});
            ASSERT_EQ(timer.has_value(), expected.has_value());
            if (!timer) break;
            ASSERT_EQ(timer->id, expected->first);
            ASSERT_EQ(timer->output_timestamp, expected->second);
          }
          break;
        }
        default: {
          const ProcessingTime time{now + static_cast<int64_t>(rng.Below(12))};
          queue.Set(id, time, At(step));
          reference.Set(id, time, At(step));
        }
      }
      ASSERT_EQ(queue.size(), reference.size());
      ASSERT_EQ(queue.NextTime(), reference.NextTime());
    }
  }
}

}  // namespace
}  // namespace hornbeam::engine
