// The power goes at each named commit point, every time that it is reached, in a job with sessions, state, timers, late data and a
// side input: what comes out is what comes out undisturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/state.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/side_input.h"

namespace hornbeam {
namespace {

using engine::CommitPoint;
using Event = KV<std::string, int64_t>;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// Counts a key's elements in a window, and says so at its end and whenever it is told to by the clock.
struct CountByTimers : StatefulDoFn {
  ValueState<int64_t> count{"count"};
  EventTimer end{"end"};
  ProcessingTimer soon{"soon"};

  void ProcessElement(const Event&, const ElementContext& context, OutputReceiver<Event>&) {
    if (count.IsEmpty()) {
      end.Set(context.window().MaxTimestamp());
      soon.Set(context.processing_time() + Seconds(5));
    }
    count.Write(count.Read() + 1);
  }
  void OnTimer(const std::string& key, const TimerContext&, OutputReceiver<Event>& out) { out.Output({key, count.Read()}); }
};

struct World {
  MemoryFileSystem fs;
  ManualClock clock{1'000'000};
  Collector<Event> sessions, timed, late;
  Collector<std::string> enriched;
};

void Build(Pipeline& pipeline, World& world) {
  TestStream<Event> stream = TestStream<Event>().AdvanceWatermarkTo(At(0));
  for (int64_t s = 0; s < 40; ++s) {
    stream = stream.AddTimestamped({{{absl::StrCat("k", s % 3), s}, At(s - s % 5)}});
    if (s % 4 == 3) stream = stream.AdvanceWatermarkTo(At(s - 2)).AdvanceProcessingTime(Seconds(3));
  }
  const auto events = pipeline | "Events" >> stream.AdvanceWatermarkToInfinity();
  events | "Sessions" >> WindowInto(Sessions(Seconds(4))).WithAllowedLateness(Seconds(20)).AccumulatingFiredPanes()
         | "SumSessions" >> CombinePerKey(Sum<int64_t>()) | "CollectSessions" >> Collect(&world.sessions);
  const auto tens = events | "Tens" >> WindowInto(FixedWindows(Seconds(10)))
                                           .Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(1)))
                                           .WithAllowedLateness(Seconds(20))
                                           .AccumulatingFiredPanes();
  tens | "Timers" >> ParDo<Event>(CountByTimers()) | "CollectTimed" >> Collect(&world.timed);
  const auto sums = tens | "SumTens" >> CombinePerKey(Sum<int64_t>());
  sums | "CollectLate" >> Collect(&world.late);
  const auto totals = events | "TensOnce" >> WindowInto(FixedWindows(Seconds(10))) | "One" >> Map([](const Event& e) { return e.value; })
                             | "View" >> AsList();
  tens | "Look" >> MapWithSideInputs([](const Event& event, const std::vector<int64_t>& all) {
    int64_t sum = 0;
    for (const int64_t value : all) sum += value;
    return absl::StrCat(event.key, "/", event.value, " of ", sum);
  }, totals) | "CollectEnriched" >> Collect(&world.enriched);
}

std::vector<std::string> ResultOf(const World& world) {
  std::vector<std::string> lines;
  const auto add = [&](const char* what, const auto& collector) {
    for (const auto& e : collector.elements()) {
      lines.push_back(absl::StrCat(what, " ", e.value.key, "=", e.value.value, " ", ToString(e.window), " ", ToString(e.timestamp), " ",
                                   static_cast<int>(e.pane.timing), " ", e.pane.index));
    }
  };
  add("session", world.sessions);
  add("timed", world.timed);
  add("late", world.late);
  for (const std::string& line : world.enriched.values()) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Runs to the end, over as many starts as it takes, cutting the power when `point` is reached for the `nth` time. How often each
// point was reached, in all.
Status RunToItsEnd(World& world, CommitPoint point, int nth, std::map<CommitPoint, int>* reached, int* starts) {
  Rng rng(static_cast<uint64_t>(nth) * 31 + static_cast<uint64_t>(point));
  int left = nth;
  for (*starts = 1; *starts < 10; ++*starts) {
    std::unique_ptr<engine::Job> job;
    bool off = false;
    PipelineOptions options;
    options.name = "points";
    options.state_dir = "/job";
    options.fs = &world.fs;
    options.clock = &world.clock;
    options.workers = 1 + *starts % 3;
    options.batch_size = 4;
    options.deterministic_seed = rng.Next() | 1;
    options.log_segment_bytes = 2000;
    options.log_rewrite_above_bytes = 4000;
    options.on_commit_point = [&](CommitPoint now) {
      if (off) return;
      ++(*reached)[now];
      if (now != point || left == 0 || --left > 0) return;
      off = true;
      world.fs.DropUnsynced(&rng);
      job->Cancel();
    };
    Pipeline pipeline(options);
    Build(pipeline, world);
    HB_ASSIGN_OR_RETURN(job, pipeline.MakeJob());
    const Status status = job->Run();
    if (!off) return status;
  }
  return absl::DeadlineExceededError("the job does not come to an end");
}

TEST(CommitPointsTest, ACrashAtEachChangesNothing) {
  World undisturbed;
  std::map<CommitPoint, int> reached;
  int starts = 0;
  ASSERT_TRUE(RunToItsEnd(undisturbed, CommitPoint::kRecovered, 0, &reached, &starts).ok());
  const std::vector<std::string> expected = ResultOf(undisturbed);
  EXPECT_GT(expected.size(), 60u);
  for (const CommitPoint point : engine::kCommitPoints) {
    if (point == CommitPoint::kDecisionNoted) continue;  // a Collector decides nothing: see ExactlyOnceTest
    EXPECT_GT(reached[point], 0) << ToString(point);
    for (int nth = 1; nth <= reached[point]; nth += nth < 20 ? 1 : 7) {
      SCOPED_TRACE(absl::StrCat(ToString(point), ", number ", nth));
      World world;
      std::map<CommitPoint, int> again;
      const Status status = RunToItsEnd(world, point, nth, &again, &starts);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(ResultOf(world), expected);
    }
  }
}

}  // namespace
}  // namespace hornbeam
