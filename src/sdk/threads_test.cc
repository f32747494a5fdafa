// Real threads and the system's clock: back-pressure, cancel, drain, destruction, exceptions. What TSan is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/test_stream.h"
#include "sdk/fakes/message_queue.h"
#include "sdk/fakes/offset_table.h"

namespace hornbeam {
namespace {

using engine::Job;
using engine::JobState;
using testing::UnorderedElementsAre;
using Event = KV<std::string, int64_t>;

PipelineOptions Threaded(MemoryFileSystem* fs, int workers = 4) {
  PipelineOptions options;
  options.workers = workers;
  options.batch_size = 8;
  options.epoch_interval = Millis(1);
  if (fs != nullptr) {
    options.fs = fs;
    options.state_dir = "/job";
  }
  return options;
}

std::vector<TimestampedValue<std::string>> Rows(int n) {
  std::vector<TimestampedValue<std::string>> rows;
  for (int i = 0; i < n; ++i) rows.push_back({absl::StrCat("row", i), EventTime::FromSeconds(i / 100)});
  return rows;
}

// Never ends by itself; counts what it has put out.
class Endless final : public engine::Reader {
 public:
  explicit Endless(std::atomic<int64_t>* given) : given_(given) {}
  Status Open(const engine::ReaderContext& context) override { return absl::OkStatus(); }
  Status Restore(bool, std::string_view) override { return absl::OkStatus(); }
  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    engine::Polled polled;
    if (draining_) {
      polled.state = engine::Polled::State::kFinished;
      return polled;
    }
    auto batch = std::make_unique<engine::TypedBatch<Event>>();
    for (size_t i = 0; i < max_elements; ++i) {
      batch->Append({absl::StrCat("k", i), 1}, EventTime::FromSeconds(0), Window::Global(), PaneInfo::NoFiring());
    }
    given_->fetch_add(static_cast<int64_t>(max_elements));
    polled.state = engine::Polled::State::kData;
    polled.batch = std::move(batch);
    return polled;
  }
  Status OnMarker(engine::EpochId, engine::ReaderRecords*) override { return absl::OkStatus(); }
  Status Rewrite(engine::ReaderRecords*) override { return absl::OkStatus(); }
  void Drain() override { draining_ = true; }

 private:
  std::atomic<int64_t>* const given_;
  bool draining_ = false;
};

Read<Event> ReadEndless(std::atomic<int64_t>* given) {
  return Read<Event>("test:transform:endless:v1", Read<Event>::kOnePerWorker, false,
                     [given](uint32_t, engine::JobContext*) { return std::make_unique<Endless>(given); });
}

TEST(ThreadsTest, ExactlyOnceFromQueueToTables) {
  MemoryFileSystem fs;
  fakes::MessageQueue<std::string> queue(Rows(3000));
  fakes::OffsetTable raw, sums;
  raw.SetAwayOneIn(50);
  Pipeline pipeline(Threaded(&fs));
  const auto messages = pipeline | "Queue" >> fakes::ReadQueue(&queue, 4);
  messages | "Raw" >> fakes::WriteTable(&raw);
  messages | "Key" >> Map([](const std::string& row) { return Event{row.substr(0, 4), 1}; })
           | "Tens" >> WindowInto(FixedWindows(Seconds(10))).Triggering(Trigger::Repeatedly(Trigger::AfterCount(7)))
           | "Group" >> GroupByKey() | "Size" >> Map([](const KV<std::string, std::vector<int64_t>>& group) {
               return Event{group.key, static_cast<int64_t>(group.value.size())};
             })
           | "Global" >> WindowInto(GlobalWindows()).Triggering(Trigger::Default())
           | "Sum" >> CombinePerKey(Sum<int64_t>())
           | "Line" >> Map([](const Event& sum) { return absl::StrCat(sum.key, " ", sum.value); })
           | "Sums" >> fakes::WriteTable(&sums);
  const Status status = pipeline.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(raw.rows().size(), 3000u);
  EXPECT_EQ(queue.acked(), 3000u);
  EXPECT_THAT(sums.rows(), testing::Contains("row1 1111"));
}

TEST(ThreadsTest, AScriptedStreamRunsOnThreads) {
  for (const bool durable : {false, true}) {
    MemoryFileSystem fs;
    ManualClock clock(1);
    PipelineOptions options = Threaded(durable ? &fs : nullptr);
    options.epoch_interval = {};
    options.clock = &clock;
    Pipeline pipeline(options);
    Collector<Event> sums;
    TestStream<Event> events = TestStream<Event>().AdvanceWatermarkTo(EventTime::FromSeconds(0));
    for (int i = 0; i < 20; ++i) {
      events = events.AddTimestamped({{{"a", 1}, EventTime::FromSeconds(i)}, {{"b", 1}, EventTime::FromSeconds(i)}})
                   .AdvanceProcessingTime(Seconds(1))
                   .AdvanceWatermarkTo(EventTime::FromSeconds(i));
    }
    pipeline | "Events" >> events.AdvanceWatermarkToInfinity()
             | "Tens" >> WindowInto(FixedWindows(Seconds(10)))
                             .Triggering(Trigger::AfterWatermark().WithEarly(Trigger::AfterProcessingTime(Seconds(4))))
                             .AccumulatingFiredPanes()
             | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    const Status status = pipeline.Run();
    ASSERT_TRUE(status.ok()) << status;
    std::vector<Event> on_time;
    int early = 0;
    for (const auto& e : sums.elements()) {
      if (e.pane.timing == PaneTiming::kOnTime) on_time.push_back(e.value);
      early += e.pane.timing == PaneTiming::kEarly;
    }
    EXPECT_THAT(on_time, UnorderedElementsAre(Event{"a", 10}, Event{"a", 10}, Event{"b", 10}, Event{"b", 10}));
    EXPECT_EQ(early, 8);  // after 4 and 8 seconds, twice, for two keys
  }
}

// Waits at a gate in Deliver until the test opens it.
class Gate {
 public:
  void Open() {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void Pass() {
    MutexLock lock(&mutex_);
    arrived_ = true;
    changed_.SignalAll();
    while (!open_) changed_.Wait(&mutex_);
  }
  void AwaitArrival() {
    MutexLock lock(&mutex_);
    while (!arrived_) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  bool arrived_ ABSL_GUARDED_BY(mutex_) = false;
};

class GatedWriter final : public engine::SinkWriter {
 public:
  GatedWriter(Gate* gate, std::atomic<int64_t>* rows) : gate_(gate), rows_(rows) {}
  Status Open(engine::SinkJournal*, std::string_view) override { return absl::OkStatus(); }
  Status Deliver(const engine::Delivery& delivery) override {
    gate_->Pass();
    rows_->fetch_add(static_cast<int64_t>(delivery.rows.size()));
    return absl::OkStatus();
  }

 private:
  Gate* const gate_;
  std::atomic<int64_t>* const rows_;
};

void WriteGated(const PCollection<Event>& events, Gate* gate, std::atomic<int64_t>* rows) {
  auto write = fakes::WriteTable(nullptr);
  write.new_writer = [gate, rows](engine::JobContext*) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
    return std::make_unique<GatedWriter>(gate, rows);
  };
  events | "Text" >> Map([](const Event& event) { return event.key; }) | "Write" >> write;
}

// Sources stop while a sink has too much; all goes on when it has room again, and a drained job has delivered everything.
TEST(ThreadsTest, ASlowSinkHoldsSourcesBackAndADrainFinishesAll) {
  for (const auto mode : {ProcessingMode::kExactlyOnce, ProcessingMode::kAtLeastOnce}) {
    MemoryFileSystem fs;
    std::atomic<int64_t> given{0}, rows{0};
    Gate gate;
    PipelineOptions options = Threaded(&fs);
    options.mode = mode;
    options.undelivered_limit_bytes = 2000;
    Pipeline pipeline(options);
    WriteGated(pipeline | "Endless" >> ReadEndless(&given), &gate, &rows);
    auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE((*job)->Start().ok());
    gate.AwaitArrival();
    while ((*job)->context().sinks_have_room()) std::this_thread::yield();
    (void)(*job)->Snapshot();
    gate.Open();
    const int64_t before = given.load();
    while (given.load() < before + 5000) std::this_thread::yield();
    (*job)->Drain();
    ASSERT_TRUE((*job)->Wait().ok());
    EXPECT_EQ((*job)->state(), JobState::kDrained);
    EXPECT_EQ(rows.load(), given.load());
  }
}

TEST(ThreadsTest, CancelAndDestructionStopARunningJob) {
  for (const bool destroy : {false, true}) {
    MemoryFileSystem fs;
    std::atomic<int64_t> given{0};
    Collector<Event> sums;
    Pipeline pipeline(Threaded(&fs));
    pipeline | "Endless" >> ReadEndless(&given)
             | "Global" >> WindowInto(GlobalWindows()).Triggering(Trigger::Repeatedly(Trigger::AfterCount(100)))
             | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE((*job)->Start().ok());
    while (sums.elements().empty()) std::this_thread::yield();
    if (!destroy) {
      (*job)->Cancel();
      EXPECT_TRUE((*job)->Wait().ok());
      EXPECT_EQ((*job)->state(), JobState::kCancelled);
      EXPECT_EQ((*job)->Snapshot().state, JobState::kCancelled);
    }
    job->reset();
  }
}

TEST(ThreadsTest, WhatUserCodeThrowsFailsTheJob) {
  std::atomic<int64_t> given{0};
  Pipeline pipeline(Threaded(nullptr));
  pipeline | "Endless" >> ReadEndless(&given) | "Throw" >> Map([](const Event& event) -> Event {
    throw std::runtime_error("no");
  });
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsAborted(status)) << status;

  class ThrowingWriter final : public engine::SinkWriter {
   public:
    Status Open(engine::SinkJournal*, std::string_view) override { return absl::OkStatus(); }
    Status Deliver(const engine::Delivery&) override { throw std::runtime_error("the writer throws"); }
  };
  Pipeline second(Threaded(nullptr));
  auto write = fakes::WriteTable(nullptr);
  write.new_writer = [](engine::JobContext*) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
    return std::make_unique<ThrowingWriter>();
  };
  second | "Endless" >> ReadEndless(&given) | "Text" >> Map([](const Event& event) { return event.key; }) | "Write" >> write;
  EXPECT_THAT(std::string(second.Run().message()), testing::HasSubstr("the writer throws"));
}

// Cancelled at some point and started again, over and over, with the disk losing what it may.
TEST(ThreadsTest, RestartsOnThreadsLoseNothing) {
  MemoryFileSystem fs;
  fakes::MessageQueue<std::string> queue(Rows(2000));
  fakes::OffsetTable raw, counts;
  Rng rng(3);
  for (int start = 0;; ++start) {
    ASSERT_LT(start, 50);
    Pipeline pipeline(Threaded(&fs, 1 + start % 4));
    const auto messages = pipeline | "Queue" >> fakes::ReadQueue(&queue, 4);
    messages | "Raw" >> fakes::WriteTable(&raw);
    messages | "Key" >> Map([](const std::string& row) { return Event{row.substr(0, 4), 1}; })
             | "Count" >> CombinePerKey(Sum<int64_t>())
             | "Line" >> Map([](const Event& sum) { return absl::StrCat(sum.key, " ", sum.value); })
             | "Counts" >> fakes::WriteTable(&counts);
    auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE((*job)->Start().ok());
    if (start < 20) {
      const engine::EpochId from = (*job)->last_sealed();
      while ((*job)->last_sealed() < from + 1 + rng.Below(3) && (*job)->state() == JobState::kRunning) std::this_thread::yield();
      (*job)->Cancel();
    }
    const Status status = (*job)->Wait();
    ASSERT_TRUE(status.ok()) << status;
    if ((*job)->state() == JobState::kDone) break;
    job->reset();
    fs.DropUnsynced(&rng);
  }
  EXPECT_EQ(raw.rows().size(), 2000u);
  EXPECT_EQ(queue.acked(), 2000u);
  EXPECT_THAT(counts.rows(), testing::Contains("row1 1111"));
}

}  // namespace
}  // namespace hornbeam
