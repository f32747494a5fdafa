// Splittable DoFns: every position once, in every mode, and what waits holds the watermark.
#include "hornbeam/splittable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// The numbers below n, in parts.
struct CountTo : SplittableDoFn<OffsetRangeTracker> {
  OffsetRange GetInitialRestriction(const int64_t& n) const { return {0, n}; }
  void SplitRestriction(const int64_t&, const OffsetRange& all, std::vector<OffsetRange>* parts) const { *parts = all.Split(7); }
  void ProcessElement(const int64_t& n, RestrictionTracker& tracker, OutputReceiver<KV<int64_t, int64_t>>& out) const {
    for (int64_t i = tracker.restriction().from; tracker.TryClaim(i); ++i) out.Output({n, i});
  }
};

TEST(SplittableTest, EveryOffsetIsProcessedOnce) {
  std::vector<KV<int64_t, int64_t>> expected;
  for (const int64_t n : {0, 1, 20, 45}) {
    for (int64_t i = 0; i < n; ++i) expected.push_back({n, i});
  }
  ForEachMode(4, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<int64_t, int64_t>> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{0, 1, 20, 45}) | "Count" >> ParDo<KV<int64_t, int64_t>>(CountTo()) |
          "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAreArray(expected));
  });
}

// Says where the call began that put a number out.
struct TellBegin : SplittableDoFn<OffsetRangeTracker> {
  OffsetRange GetInitialRestriction(const int64_t& n) const { return {0, n}; }
  void ProcessElement(const int64_t&, RestrictionTracker& tracker, OutputReceiver<std::string>& out) const {
    const int64_t begin = tracker.restriction().from;
    for (int64_t i = begin; tracker.TryClaim(i); ++i) out.Output(absl::StrCat(begin, ":", i));
  }
};

TEST(SplittableTest, ALongRestrictionIsSplitInTheMiddleAndGoesOn) {
  for (const int workers : {1, 4}) {
    TestMode mode;
    mode.batch_size = 4;
    mode.workers = workers;
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{10}) | "Tell" >> ParDo<std::string>(TellBegin()) |
          "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("0:0", "0:1", "0:2", "0:3", "4:4", "4:5", "4:6", "4:7", "8:8", "8:9"));
  }
}

// Two numbers, then nothing for ten seconds.
template <typename Estimator>
struct PollTwo : SplittableDoFn<OffsetRangeTracker, Estimator> {
  static constexpr bool kUnbounded = true;
  using Claims = typename SplittableDoFn<OffsetRangeTracker, Estimator>::RestrictionTracker;
  OffsetRange GetInitialRestriction(const int64_t& n) const { return {0, n}; }
  ProcessContinuation ProcessElement(const int64_t&, Claims& tracker, Estimator& watermark, OutputReceiver<int64_t>& out) const {
    const int64_t begin = tracker.restriction().from;
    const int64_t end = begin + 2 - begin % 2;  // a step that was cut short goes on with the second
    for (int64_t i = begin; i < end; ++i) {
      if (!tracker.TryClaim(i)) return ProcessContinuation::Stop();
      out.OutputWithTimestamp(i, At(i));
      if constexpr (std::is_same_v<Estimator, ManualWatermarkEstimator>) watermark.SetWatermark(At(i + 1));
    }
    return ProcessContinuation::Resume(Seconds(10));
  }
};

// A stream without elements that moves the clock from 1 s on.
TestStream<int64_t> Clock(int64_t steps, Duration step) {
  TestStream<int64_t> stream;
  for (int64_t i = 0; i < steps; ++i) stream = stream.AdvanceProcessingTime(step);
  return stream.AdvanceWatermarkToInfinity();
}

std::string AtTime(const std::string& what, const ElementContext& context) {
  return absl::StrCat(what, " at ", context.processing_time().us / 1'000'000);
}

TEST(SplittableTest, WhatResumesLaterIsCalledAgainWhenItsTimeHasCome) {
  ForEachMode(4, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Clock" >> Clock(6, Seconds(5));
      pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{6}) |
          "Poll" >> ParDo<int64_t>(PollTwo<ManualWatermarkEstimator>()) |
          "Tell" >> Map([](const int64_t& i, const ElementContext& context) { return AtTime(absl::StrCat(i), context); }) |
          "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("0 at 1", "1 at 1", "2 at 11", "3 at 11", "4 at 21", "5 at 21"));
  });
}

TEST(SplittableTest, AJobIsNotQuiescentWhileThereIsWork) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Clock" >> Clock(6, Seconds(5));
      pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{30}) | "Count" >> ParDo<KV<int64_t, int64_t>>(CountTo()) |
          "Tell" >> Map([](const KV<int64_t, int64_t>&, const ElementContext& context) { return AtTime("one", context); }) |
          "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAreArray(std::vector<std::string>(30, "one at 1")));
  });
}

// When the panes of [0, 2), [2, 4) and [4, 6) come, and what is in them.
template <typename Estimator>
void ExpectPanes(const std::vector<std::string>& expected) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> panes;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Clock" >> Clock(6, Seconds(5));
      pipeline | "Numbers" >> Create<int64_t>({{6, At(0)}}) | "Poll" >> ParDo<int64_t>(PollTwo<Estimator>()) |
          "Window" >> WindowInto(FixedWindows(Seconds(2))) | "Key" >> Map([](const int64_t& i) { return KV<bool, int64_t>{true, i}; }) |
          "Group" >> GroupByKey() |
          "Tell" >> Map([](const KV<bool, std::vector<int64_t>>& pane, const ElementContext& context) {
            std::vector<int64_t> sorted = pane.value;
            std::sort(sorted.begin(), sorted.end());
            return AtTime(absl::StrJoin(sorted, "+"), context);
          }) |
          "Collect" >> Collect(&panes);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(panes.values(), UnorderedElementsAreArray(expected));
  });
}

TEST(SplittableTest, AManualEstimatorHoldsWindowsUntilItIsSetPastThem) {
  ExpectPanes<ManualWatermarkEstimator>({"0+1 at 1", "2+3 at 11", "4+5 at 21"});
}
TEST(SplittableTest, AMonotonousEstimatorHoldsWindowsUntilSomethingLaterComes) {
  ExpectPanes<MonotonicallyIncreasingWatermarkEstimator>({"0+1 at 11", "2+3 at 21", "4+5 at 21"});
}
TEST(SplittableTest, WithoutAnEstimatorTheElementHoldsWindowsToTheEnd) {
  ExpectPanes<engine::NoWatermarkEstimator>({"0+1 at 21", "2+3 at 21", "4+5 at 21"});
}

// Fails on one number; of a step with others before it, all vanish.
struct FailOnSeven : SplittableDoFn<OffsetRangeTracker> {
  OffsetRange GetInitialRestriction(const int64_t& n) const {
    if (n < 0) throw std::invalid_argument("there is no range");
    return {0, n};
  }
  void ProcessElement(const int64_t&, RestrictionTracker& tracker, OutputReceiver<int64_t>& out) const {
    for (int64_t i = tracker.restriction().from; tracker.TryClaim(i); ++i) {
      out.Output(i);
      if (i == 7) throw std::runtime_error("seven");
    }
  }
};

TEST(SplittableTest, AnElementThatFailsIsADeadLetterAndTheOthersGoOn) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<int64_t> seen;
    Collector<std::string> failed;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto counted = pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{10, 3, -1}) |
                           "Count" >> ParDo<int64_t>(FailOnSeven()).WithFailures();
      counted.main() | "Collect" >> Collect(&seen);
      counted.failures() | "Error" >> Map([](const FailedElement& f) { return f.error; }) | "CollectFailed" >> Collect(&failed);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(failed.values(), UnorderedElementsAre("seven", "there is no range"));
    const std::vector<int64_t> whole_steps = mode.batch_size == 1 ? std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6} : std::vector<int64_t>{};
    std::vector<int64_t> expected = {0, 1, 2};
    expected.insert(expected.end(), whole_steps.begin(), whole_steps.end());
    EXPECT_THAT(seen.values(), UnorderedElementsAreArray(expected));
  });
}

TEST(SplittableTest, AFailureThatNobodyReadsFailsTheJob) {
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{10}) | "Count" >> ParDo<int64_t>(FailOnSeven());
  });
  EXPECT_THAT(std::string(status.message()), HasSubstr("seven"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Count'"));
}

// Returns with offsets left.
struct LeaveSome : SplittableDoFn<OffsetRangeTracker> {
  OffsetRange GetInitialRestriction(const int64_t& n) const { return {0, n}; }
  void ProcessElement(const int64_t&, RestrictionTracker& tracker, OutputReceiver<int64_t>& out) const { tracker.TryClaim(0); }
};

TEST(SplittableTest, ReturningBeforeTheRestrictionIsDoneIsAFailure) {
  const Status status = RunInMode({}, [&](Pipeline& pipeline) {
    pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{10}) | "Leave" >> ParDo<int64_t>(LeaveSome());
  });
  EXPECT_THAT(std::string(status.message()), HasSubstr("offsets 1 to 9 were not claimed"));
}

// A restriction of the program's own: the words that are left.
struct Words {
  std::vector<std::string> left;
};
HORNBEAM_CODER(Words, left);

class WordsTracker {
 public:
  using Restriction = Words;
  using Position = size_t;

  explicit WordsTracker(Words words) : words_(std::move(words)) {}
  bool TryClaim(size_t i) {
    if (i >= words_.left.size()) return false;
    claimed_ = i + 1;
    return true;
  }
  std::optional<Words> TrySplit(double) {
    if (claimed_ >= words_.left.size()) return std::nullopt;
    const auto cut = words_.left.begin() + static_cast<std::ptrdiff_t>(claimed_);
    Words rest{{cut, words_.left.end()}};
    words_.left.erase(cut, words_.left.end());
    return rest;
  }
  const Words& restriction() const { return words_; }
  Status CheckDone() const { return claimed_ == words_.left.size() ? absl::OkStatus() : absl::FailedPreconditionError("words are left"); }
  Progress GetProgress() const { return {static_cast<double>(claimed_), static_cast<double>(words_.left.size() - claimed_)}; }

 private:
  Words words_;
  size_t claimed_ = 0;
};

struct Spell : SplittableDoFn<WordsTracker> {
  Words GetInitialRestriction(const std::vector<std::string>& words) const { return {words}; }
  void ProcessElement(const std::vector<std::string>&, RestrictionTracker& tracker, OutputReceiver<std::string>& out) const {
    const std::vector<std::string> words = tracker.restriction().left;
    for (size_t i = 0; tracker.TryClaim(i); ++i) out.Output(words[i]);
  }
};

TEST(SplittableTest, ARestrictionCanBeOfTheProgramsOwn) {
  ForEachMode(2, [&](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> seen;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Words" >> Create<std::vector<std::string>>(std::vector<std::vector<std::string>>{{"a", "b", "c"}, {}, {"d"}}) |
          "Spell" >> ParDo<std::string>(Spell()) | "Collect" >> Collect(&seen);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(seen.values(), UnorderedElementsAre("a", "b", "c", "d"));
  });
}

PipelineOptions OptionsOn(MemoryFileSystem* fs, ManualClock* clock, int workers, uint64_t seed) {
  PipelineOptions options;
  options.name = "test";
  options.state_dir = "/job";
  options.fs = fs;
  options.clock = clock;
  options.workers = workers;
  options.batch_size = 1;
  options.deterministic_seed = seed;
  return options;
}

TEST(SplittableTest, RestrictionsGoOnOnAnotherNumberOfWorkers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    MemoryFileSystem fs;
    ManualClock clock(1'000'000);
    Collector<KV<int64_t, int64_t>> seen;
    bool crashed = true;
    int start = 0;
    for (; crashed; ++start) {
      Pipeline pipeline(OptionsOn(&fs, &clock, std::vector<int>{4, 1, 3, 2}[static_cast<size_t>(start % 4)],
                                  seed * 1000 + static_cast<uint64_t>(start)));
      pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{100}) | "Count" >> ParDo<KV<int64_t, int64_t>>(CountTo()) |
          "Collect" >> Collect(&seen);
      const auto job = pipeline.MakeJob();
      ASSERT_TRUE(job.ok()) << job.status();
      crashed = false;
      (*job)->StopAfterEpochs(1, (start * 7 + static_cast<int>(seed)) % 30, [&] {
        crashed = true;
        fs.DropUnsynced();
      });
      const Status status = (*job)->Run();
      ASSERT_TRUE(crashed || status.ok()) << status;
      ASSERT_LT(start, 500);
    }
    std::vector<KV<int64_t, int64_t>> expected;
    for (int64_t i = 0; i < 100; ++i) expected.push_back({100, i});
    EXPECT_THAT(seen.values(), UnorderedElementsAreArray(expected));
    EXPECT_GT(start, 2);
  }
}

// Never ends by itself.
struct Endless : SplittableDoFn<OffsetRangeTracker> {
  static constexpr bool kUnbounded = true;
  bool waits = false;
  OffsetRange GetInitialRestriction(const int64_t&) const { return {0, OffsetRange::kEndless}; }
  ProcessContinuation ProcessElement(const int64_t&, RestrictionTracker& tracker, OutputReceiver<int64_t>& out) const {
    int64_t i = tracker.restriction().from;
    while (tracker.TryClaim(i)) {
      out.Output(i++);
      if (waits) return ProcessContinuation::Resume(Hours(1));
    }
    return ProcessContinuation::Stop();
  }
};

TEST(SplittableTest, WhatNeverEndsEndsWhenTheJobDrains) {
  for (const bool waits : {false, true}) {
    MemoryFileSystem fs;
    ManualClock clock(1'000'000);
    Pipeline pipeline(OptionsOn(&fs, &clock, 2, 1));
    engine::Job* running = nullptr;
    std::vector<int64_t> seen;
    Endless endless;
    endless.waits = waits;
    pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{1}) | "Endless" >> ParDo<int64_t>(endless) |
        "Watch" >> Map([&](const int64_t& i) {
          seen.push_back(i);
          if (i == (waits ? 0 : 20)) running->Drain();
          return i;
        });
    const auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    running = job->get();
    const Status status = running->Run();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(running->state(), engine::JobState::kDrained);
    EXPECT_GE(seen.size(), waits ? 1u : 21u);
    for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i));
  }
}

TEST(SplittableTest, ABoundedRestrictionIsFinishedWhenTheJobDrains) {
  MemoryFileSystem fs;
  ManualClock clock(1'000'000);
  Pipeline pipeline(OptionsOn(&fs, &clock, 2, 1));
  engine::Job* running = nullptr;
  int seen = 0;
  pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{30}) | "Count" >> ParDo<KV<int64_t, int64_t>>(CountTo()) |
      "Watch" >> Map([&](const KV<int64_t, int64_t>& i) {
        if (++seen == 5) running->Drain();
        return i;
      });
  const auto job = pipeline.MakeJob();
  ASSERT_TRUE(job.ok()) << job.status();
  running = job->get();
  const Status status = running->Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, 30);
}

// Notes at each step how much it is ahead of what has been delivered.
struct RunAhead : SplittableDoFn<OffsetRangeTracker> {
  Collector<int64_t>* delivered;
  size_t* most;
  OffsetRange GetInitialRestriction(const int64_t& n) const { return {0, n}; }
  void ProcessElement(const int64_t&, RestrictionTracker& tracker, OutputReceiver<int64_t>& out) const {
    int64_t i = tracker.restriction().from;
    *most = std::max(*most, static_cast<size_t>(i) - delivered->values().size());
    for (; tracker.TryClaim(i); ++i) out.Output(i);
  }
};

TEST(SplittableTest, RestsWhileTheSinkHasNoRoom) {
  MemoryFileSystem fs;
  ManualClock clock(1'000'000);
  PipelineOptions options = OptionsOn(&fs, &clock, 1, 1);
  options.batch_size = 16;
  options.undelivered_limit_bytes = 1000;
  Pipeline pipeline(options);
  Collector<int64_t> delivered;
  size_t most = 0;
  RunAhead run_ahead;
  run_ahead.delivered = &delivered;
  run_ahead.most = &most;
  pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{3000}) | "Run" >> ParDo<int64_t>(run_ahead) |
      "Collect" >> Collect(&delivered);
  const Status status = pipeline.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(delivered.values().size(), 3000u);
  EXPECT_LT(most, 200u);  // rows of more than ten bytes, and a step
}

TEST(SplittableTest, ThreadsShareTheParts) {
  PipelineOptions options;
  options.workers = 4;
  options.batch_size = 64;
  Pipeline pipeline(options);
  Collector<KV<int64_t, int64_t>> seen;
  pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{5000}) | "Count" >> ParDo<KV<int64_t, int64_t>>(CountTo()) |
      "Collect" >> Collect(&seen);
  const Status status = pipeline.Run();
  ASSERT_TRUE(status.ok()) << status;
  std::vector<KV<int64_t, int64_t>> values = seen.values();
  std::sort(values.begin(), values.end());
  ASSERT_EQ(values.size(), 5000u);
  for (int64_t i = 0; i < 5000; ++i) EXPECT_EQ(values[static_cast<size_t>(i)].value, i);
}

}  // namespace
}  // namespace hornbeam
