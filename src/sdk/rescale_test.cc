// A job goes on with another number of workers, under another name of a step it does not, and its log stays small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/test_stream.h"
#include "sdk/fakes/message_queue.h"

namespace hornbeam {
namespace {

using engine::JobState;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

struct FailsTwice {
  int* failures;
  void ProcessElement(const Event& event, OutputReceiver<Event>& out) {
    if (event.value % 10 == 7 && (*failures)++ < 24) throw std::runtime_error("not yet");
    out.Output(event);
  }
};

struct Outcome {
  std::vector<Event> sums, firsts;
  std::vector<KV<std::string, std::vector<int64_t>>> groups;
  int starts = 0;
  uint64_t most_log_bytes = 0;
};

// Keyed state of every kind, timers and parked elements, over runs of `epochs` epochs with so many workers each in turn.
Status RunOver(const std::vector<int>& workers, int epochs, const std::string& group_name, uint64_t seed, Outcome* outcome) {
  MemoryFileSystem fs;
  ManualClock clock(1'000'000);
  int failures = 0;
  Collector<Event> sums, firsts;
  Collector<KV<std::string, std::vector<int64_t>>> groups;
  for (;; ++outcome->starts) {
    if (outcome->starts > 300) return absl::DeadlineExceededError("no end");
    PipelineOptions options;
    options.fs = &fs;
    options.clock = &clock;
    options.state_dir = "/job";
    options.workers = workers[static_cast<size_t>(outcome->starts) % workers.size()];
    options.batch_size = 3;
    options.deterministic_seed = seed + static_cast<uint64_t>(outcome->starts) * 2 + 1;
    options.log_segment_bytes = 1500;
    options.log_rewrite_above_bytes = 3000;
    Pipeline pipeline(options);
    TestStream<Event> events = TestStream<Event>().AdvanceWatermarkTo(At(0));
    for (int64_t s = 0; s < 60; ++s) {
      events = events.AddTimestamped({{{absl::StrCat("k", s % 7), s}, At(s)}, {{absl::StrCat("k", s % 3), s + 1000}, At(s)}})
                   .AdvanceProcessingTime(Seconds(7))
                   .AdvanceWatermarkTo(At(s - 5));
    }
    events = events.AdvanceWatermarkToInfinity().AdvanceProcessingTime(Hours(1)).AdvanceProcessingTime(Hours(1));
    const auto tens = pipeline | "Events" >> events
                      | "Flaky" >> ParDo<Event>(FailsTwice{&failures}).OnFailure(FailurePolicy::kRetry)
                      | "Tens" >> WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Minutes(10));
    tens | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    tens | "Firsts" >> DeduplicatePerWindow() | "CollectFirsts" >> Collect(&firsts);
    tens | "Timed" >> WindowInto(FixedWindows(Seconds(30)))
                          .Triggering(Trigger::Repeatedly(Trigger::AfterProcessingTime(Seconds(20))))
         | NamedTransform<GroupByKey>{outcome->starts == 0 ? "Group" : group_name, GroupByKey()}
         | "Groups" >> Collect(&groups);
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
    if (epochs > 0) job->StopAfterEpochs(epochs);
    HB_RETURN_IF_ERROR(job->Run());
    outcome->most_log_bytes = std::max(outcome->most_log_bytes, job->Snapshot().log_bytes);
    if (job->state() == JobState::kDone) break;
  }
  outcome->sums = sums.values();
  outcome->firsts = firsts.values();
  for (auto& group : groups.values()) {
    auto at = std::find_if(outcome->groups.begin(), outcome->groups.end(), [&](auto& g) { return g.key == group.key; });
    if (at == outcome->groups.end()) at = outcome->groups.insert(at, {group.key, {}});
    at->value.insert(at->value.end(), group.value.begin(), group.value.end());
    std::sort(at->value.begin(), at->value.end());
  }
  return absl::OkStatus();
}

int64_t Total(const std::vector<Event>& events) {
  int64_t total = 0;
  for (const Event& event : events) total += event.value;
  return total;
}

TEST(RescaleTest, TheNumberOfWorkersChangesBetweenRuns) {
  Outcome expected;
  ASSERT_TRUE(RunOver({1}, 0, "Group", 1, &expected).ok());
  EXPECT_EQ(expected.starts, 0);
  EXPECT_EQ(Total(expected.sums), 59 * 60 + 60 * 1000);
  for (const std::vector<int>& workers : {std::vector{1, 4, 2}, std::vector{4, 1}, std::vector{2, 3, 8, 1}}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(absl::StrCat("first ", workers[0], " workers, seed ", seed));
      Outcome outcome;
      const Status status = RunOver(workers, 3, "Group", seed * 1000, &outcome);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_GT(outcome.starts, 5);
      EXPECT_EQ(Total(outcome.sums), Total(expected.sums));
      EXPECT_EQ(outcome.firsts.size(), expected.firsts.size());
      EXPECT_THAT(outcome.groups, UnorderedElementsAreArray(expected.groups));
      EXPECT_LT(outcome.most_log_bytes, 60'000u);
    }
  }
}

TEST(RescaleTest, AStepThatIsGoneIsAClearError) {
  Outcome outcome;
  const Status status = RunOver({2}, 5, "Renamed", 1, &outcome);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Group' is gone from the pipeline, and its state with it"));
  EXPECT_EQ(outcome.starts, 1);
}

TEST(RescaleTest, FewerPartsOfASourceAreAClearError) {
  MemoryFileSystem fs;
  fakes::MessageQueue<std::string> queue({{"a", At(1)}, {"b", At(2)}, {"c", At(3)}});
  Status status;
  for (const uint32_t splits : {3u, 2u}) {
    PipelineOptions options;
    options.fs = &fs;
    options.state_dir = "/job";
    options.workers = 2;
    options.deterministic_seed = 1;
    Pipeline pipeline(options);
    pipeline | "Queue" >> fakes::ReadQueue(&queue, splits);
    status = pipeline.Run();
    EXPECT_EQ(status.ok(), splits == 3);
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Queue'"));
}

}  // namespace
}  // namespace hornbeam
