// State that does not fit in memory. That results stay the same is shown by every test that runs in all modes (TestMode::spills);
// here is what becomes of the budget, of errors, and of state on a real disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "engine/state/cold_store.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using engine::ColdBatch;
using engine::ColdStore;
using engine::MemoryColdStore;
using ::testing::HasSubstr;
using Event = KV<std::string, int64_t>;

// Counts what is done, and can be told to fail at it.
struct Traffic {
  int puts = 0, gets_found = 0, scans = 0, removals = 0;
  int fail_at_put = 0, fail_at_get = 0, fail_at_scan = 0;  // the how-many-eth; 0: never
};

class WatchedColdStore final : public ColdStore {
 public:
  explicit WatchedColdStore(Traffic* traffic) : traffic_(*traffic) {}

  Status Put(const ColdBatch& batch) override {
    if (++traffic_.puts == traffic_.fail_at_put) return absl::ResourceExhaustedError("the disk is full");
    return store_.Put(batch);
  }
  StatusOr<bool> Get(std::string_view key, std::string* value) override {
    HB_ASSIGN_OR_RETURN(const bool found, store_.Get(key, value));
    if (found && ++traffic_.gets_found == traffic_.fail_at_get) return absl::InternalError("the disk is gone");
    return found;
  }
  Status Remove(std::string_view key) override {
    ++traffic_.removals;
    return store_.Remove(key);
  }
  Status Scan(std::string_view prefix, absl::FunctionRef<Status(std::string_view, std::string_view)> visit) override {
    if (++traffic_.scans == traffic_.fail_at_scan) return absl::InternalError("the disk is gone");
    return store_.Scan(prefix, visit);
  }
  Status RemoveAll(std::string_view prefix) override {
    ++traffic_.removals;
    return store_.RemoveAll(prefix);
  }

 private:
  Traffic& traffic_;
  MemoryColdStore store_;
};

// The sum of all values of a key in its window, as a stateful DoFn has it; its last word.
struct Total : StatefulDoFn {
  ValueState<int64_t> total{"total"};
  void ProcessElement(const Event& event, OutputReceiver<Event>& out) { total.Write(total.Read() + event.value); }
  void OnWindowExpiration(const std::string& key, const engine::ExpirationContext&, OutputReceiver<Event>& out) {
    out.Output(Event{key, total.Read()});
  }
};

// Each key comes, in an epoch of its own after all others have, several times more.
TestStream<Event> ManyEpochs() {
  TestStream<Event> stream = TestStream<Event>();
  for (int round = 0; round < 5; ++round) {
    for (int key = 0; key < 20; ++key) {
      stream = stream.AddTimestamped({{{absl::StrCat("k", key), 1}, EventTime::FromSeconds(round)}})
                   .AdvanceProcessingTime(Seconds(1));
    }
  }
  return stream.AdvanceWatermarkToInfinity();
}

enum class Kind { kGroup, kLate, kSessions, kSliding, kStateful };

std::string NameOf(Kind kind) {
  const char* const names[] = {"Group", "Late", "Sessions", "Sliding", "Stateful"};
  return names[static_cast<size_t>(kind)];
}

void Build(Pipeline& pipeline, Kind kind, Collector<Event>* totals) {
  const auto events = pipeline | "Events" >> ManyEpochs();
  switch (kind) {
    case Kind::kGroup:
      events | "Window" >> WindowInto(FixedWindows(Minutes(1))) | "Group" >> GroupByKey() |
          "Total" >> Map([](const KV<std::string, std::vector<int64_t>>& group) {
            return Event{group.key, static_cast<int64_t>(group.value.size())};
          }) | "Collect" >> Collect(totals);
      break;
    case Kind::kLate:
      events | "Window" >> WindowInto(FixedWindows(Minutes(1))).WithAllowedLateness(Minutes(1)).AccumulatingFiredPanes() |
          "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(totals);
      break;
    case Kind::kSessions:
      events | "Window" >> WindowInto(Sessions(Seconds(10))) | "Sum" >> CombinePerKey(Sum<int64_t>()) |
          "Collect" >> Collect(totals);
      break;
    case Kind::kSliding:
      events | "Window" >> WindowInto(SlidingWindows(Minutes(1), Minutes(1))) | "Sum" >> CombinePerKey(Sum<int64_t>()) |
          "Collect" >> Collect(totals);
      break;
    case Kind::kStateful:
      events | "Window" >> WindowInto(FixedWindows(Minutes(1))) | "Total" >> ParDo<Event>(Total()) | "Collect" >> Collect(totals);
      break;
  }
}

Status RunWith(Kind kind, Traffic* traffic, std::vector<Event>* totals) {
  MemoryFileSystem fs;
  ManualClock clock(1'000'000);
  PipelineOptions options;
  options.fs = &fs;
  options.clock = &clock;
  options.state_dir = "/job";
  options.workers = 1;
  options.batch_size = 1;
  options.deterministic_seed = 3;
  options.state_memory_bytes = 1;
  options.new_cold_store = [traffic](int) { return std::make_unique<WatchedColdStore>(traffic); };
  Pipeline pipeline(options);
  Collector<Event> collector;
  Build(pipeline, kind, &collector);
  HB_RETURN_IF_ERROR(pipeline.Run());
  *totals = collector.values();
  return absl::OkStatus();
}

class SpillTest : public ::testing::TestWithParam<Kind> {};

TEST_P(SpillTest, StateLeavesMemoryAndComesBack) {
  Traffic traffic;
  std::vector<Event> totals;
  ASSERT_TRUE(RunWith(GetParam(), &traffic, &totals).ok());
  EXPECT_EQ(totals.size(), 20u);
  for (const Event& total : totals) EXPECT_EQ(total.value, 5) << total.key;
  EXPECT_GT(traffic.puts, 20);
  EXPECT_GT(traffic.gets_found, 20);
  EXPECT_GT(traffic.removals, 0);
}

TEST_P(SpillTest, AFailingStoreFailsTheJobAndNothingIsMadeUp) {
  Traffic counted;
  std::vector<Event> totals;
  ASSERT_TRUE(RunWith(GetParam(), &counted, &totals).ok());
  for (const bool at_put : {true, false}) {
    for (const int at : {1, 7, 30}) {
      Traffic traffic;
      (at_put ? traffic.fail_at_put : traffic.fail_at_get) = at;
      if ((at_put ? counted.puts : counted.gets_found) < at) continue;
      const Status status = RunWith(GetParam(), &traffic, &totals);
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(status.message(), HasSubstr(at_put ? "the disk is full" : "the disk is gone"));
    }
  }
  if (counted.scans > 0) {
    Traffic traffic;
    traffic.fail_at_scan = 1;
    EXPECT_THAT(RunWith(GetParam(), &traffic, &totals).message(), HasSubstr("the disk is gone"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SpillTest,
                         ::testing::Values(Kind::kGroup, Kind::kLate, Kind::kSessions, Kind::kSliding, Kind::kStateful),
                         [](const auto& info) { return NameOf(info.param); });

// With threads and a real disk, and many times the keys that the budget has room for.
TEST(SpillOnDiskTest, SumsAreRightAndTheScratchGoes) {
  const std::string dir = absl::StrCat(::testing::TempDir(), "/spill_test_", getpid());
  std::filesystem::remove_all(dir);
  constexpr int64_t kKeys = 60'000;
  constexpr size_t kBudget = 1 << 20;
  std::vector<TimestampedValue<Event>> events;
  for (int64_t n = 0; n < 2 * kKeys; ++n) events.push_back({{absl::StrCat("key ", n % kKeys), 1}, EventTime::FromSeconds(n % 60)});
  PipelineOptions options;
  options.state_dir = dir;
  options.workers = 2;
  options.state_memory_bytes = kBudget;
  options.epoch_interval = Millis(1);
  Pipeline pipeline(options);
  Collector<Event> totals;
  pipeline | "Events" >> Create<Event>(events) | "Window" >> WindowInto(FixedWindows(Hours(1))) |
      "Sum" >> CombinePerKey(Sum<int64_t>()) | "Collect" >> Collect(&totals);
  auto job = pipeline.MakeJob();
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE((*job)->Run().ok());
  EXPECT_EQ(totals.values().size(), static_cast<size_t>(kKeys));
  for (const Event& total : totals.values()) ASSERT_EQ(total.value, 2) << total.key;
  EXPECT_TRUE(std::filesystem::exists(dir + "/cold/0"));
  job->reset();
  EXPECT_FALSE(std::filesystem::exists(dir + "/cold/0")) << "scratch goes with the job";
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace hornbeam
