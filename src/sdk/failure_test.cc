// What becomes of an element that a DoFn throws on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/passert.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const OutputTag<std::string> kText{"text"};
const OutputTag<int64_t> kSize{"size"};

TestStream<std::string> Words() {
  return TestStream<std::string>()
      .AdvanceWatermarkTo(EventTime::FromSeconds(0))
      .AddTimestamped({{"one", EventTime::FromSeconds(1)},
                       {"poison", EventTime::FromSeconds(2)},
                       {"three", EventTime::FromSeconds(3)},
                       {"int", EventTime::FromSeconds(4)},
                       {"five", EventTime::FromSeconds(15)}})
      .AdvanceWatermarkToInfinity();
}

WindowInto Tens() { return WindowInto(FixedWindows(Seconds(10))); }

// Puts out to both outputs before it throws.
struct Split {
  void ProcessElement(const std::string& word, OutputReceiver<std::string>& text, OutputReceiver<int64_t>& size) {
    text.Output(word);
    size.Output(static_cast<int64_t>(word.size()));
    if (word == "poison") throw std::runtime_error("it is poison");
    if (word == "int") throw 42;
    text.Output(word + "!");
  }
};

TEST(FailureTest, FailNamesTransformWindowAndElement) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Words" >> Words() | "Tens" >> Tens() | "Split" >> ParDo(Split()).WithOutputs(kText, kSize);
    });
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'Split' failed on an element of window "
                                                         "[1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z): it is poison; the "
                                                         "element: poison"));
  });
}

TEST(FailureTest, ADeadLetterHasTheElementAndNothingElseIsLeftOfIt) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> text;
    Collector<int64_t> size;
    Collector<FailedElement> failed;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto split = pipeline | "Words" >> Words() | "Tens" >> Tens()
                         | "Split" >> ParDo(Split()).WithOutputs(kText, kSize).WithFailures();
      split.Get(kText) | "Text" >> Collect(&text);
      split.Get(kSize) | "Size" >> Collect(&size);
      split.failures() | "Failed" >> Collect(&failed);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(text.values(), UnorderedElementsAre("one", "one!", "three", "three!", "five", "five!"));
    EXPECT_THAT(size.values(), UnorderedElementsAre(3, 5, 4));
    const std::string window = "[1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z)";
    EXPECT_THAT(failed.values(),
                UnorderedElementsAre(
                    FailedElement{"Split", "it is poison", window, EventTime::FromSeconds(2), "poison", 3},
                    FailedElement{"Split", "an exception that is not a std::exception", window,
                                  EventTime::FromSeconds(4), "int", 3}));
    for (const auto& element : failed.elements()) EXPECT_EQ(element.window.end, EventTime::FromSeconds(10));
  });
}

TEST(FailureTest, ADeadLetterThatNobodyReadsFailsTheJob) {
  ForEachMode(1, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> text;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto split = pipeline | "Words" >> Words() | "Split" >> ParDo(Split()).WithOutputs(kText, kSize).WithFailures();
      split.Get(kText) | "Text" >> Collect(&text);
    });
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'Split' failed"));
  });
}

TEST(FailureTest, WhatParksElementsComesBehindAWatermarkMadeOfThem) {
  for (const bool behind : {false, true}) {
    PipelineOptions options;
    options.deterministic_seed = 1;
    Pipeline pipeline(options);
    const auto flaky = ParDo<std::string>([](const std::string& word, OutputReceiver<std::string>& out) {
                         out.Output(word);
                       }).OnFailure(FailurePolicy::kRetry);
    const WithWatermark watermark(BoundedOutOfOrderness(Seconds(1), Seconds(1)));
    const auto words = pipeline | "Words" >> Words();
    if (behind) {
      words | "Watermark" >> watermark | "Flaky" >> flaky;
    } else {
      words | "Flaky" >> flaky | "Upper" >> Map([](const std::string& word) { return word; }) | "Watermark" >> watermark;
    }
    const Status status = pipeline.Run();
    if (behind) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("'Flaky'"));
    }
  }
}

TEST(FailureTest, AnElementThatIsMovedFromIsTriedOnce) {
  Collector<FailedElement> failed;
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  int calls = 0;
  const auto taken = pipeline | "Words" >> Create<std::string>(std::vector<std::string>{"word"})
                     | "Take" >> ParDo<std::string>([&calls](std::string&& word, OutputReceiver<std::string>& out) {
                                   ++calls;
                                   throw std::runtime_error(word);
                                 }).WithFailures();
  taken.failures() | "Failed" >> Collect(&failed);
  ASSERT_TRUE(pipeline.Run().ok());
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(failed.values().size(), 1u);
  EXPECT_EQ(failed.values()[0].attempts, 1);
}

TEST(FailureTest, AFewAttemptsAreEnough) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  options.workers = 1;
  Pipeline pipeline(options);
  auto calls = std::make_shared<int>(0);
  const auto out = pipeline | "Words" >> Create<std::string>(std::vector<std::string>{"a", "b"})
                   | "Flaky" >> Map([calls](const std::string& word) {
                       if (++*calls % 3 != 0) throw std::runtime_error("again");
                       return word;
                     });
  PAssert(out).ContainsInAnyOrder({"a", "b"});
  const Status status = pipeline.Run();
  EXPECT_TRUE(status.ok()) << status;
}

// Fails on "poison" until the clock has reached a time.
struct FailsUntil {
  int64_t until_us;
  std::vector<int64_t>* tries_us;
  void ProcessElement(const std::string& word, const ElementContext& context, OutputReceiver<std::string>& out) {
    out.Output(word);
    if (word != "poison") return;
    tries_us->push_back(context.processing_time().us);
    if (context.processing_time().us < until_us) throw std::runtime_error("not yet");
  }
};

// The parked element holds its window open: nothing of [0, 10) comes out on time before it has been released.
TEST(FailureTest, ARetriedElementHoldsTheWatermarkUntilItSucceeds) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, int64_t>> counts;
    std::vector<int64_t> tries_us;
    int64_t began_us = 0;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      if (began_us == 0) began_us = pipeline.options().clock->NowMicros();
      pipeline | "Words" >> TestStream<std::string>()
                                .AdvanceWatermarkTo(EventTime::FromSeconds(0))
                                .AddTimestamped({{"one", EventTime::FromSeconds(1)},
                                                 {"poison", EventTime::FromSeconds(2)},
                                                 {"three", EventTime::FromSeconds(3)}})
                                .AdvanceWatermarkTo(EventTime::FromSeconds(12))
                                .AddTimestamped({{"thirteen", EventTime::FromSeconds(13)}})
                                .AdvanceProcessingTime(Seconds(10))
                                .AddTimestamped({{"fourteen", EventTime::FromSeconds(14)}})
                                .AdvanceProcessingTime(Minutes(10))
                                .AdvanceProcessingTime(Minutes(10))
                                .AdvanceWatermarkToInfinity()
               | "Tens" >> Tens()
               | "Flaky" >> ParDo<std::string>(FailsUntil{began_us + 60'000'000, &tries_us}).OnFailure(FailurePolicy::kRetry)
               | "Pair" >> Map([](const std::string&) { return KV<std::string, int64_t>{"words", 1}; })
               | "Count" >> CombinePerKey(Sum<int64_t>()) | "Counts" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    using Count = KV<std::string, int64_t>;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Count{"words", 3}, Count{"words", 2}));
    for (const auto& element : counts.elements()) EXPECT_EQ(element.pane.timing, PaneTiming::kOnTime);
    EXPECT_GE(tries_us.size(), 7u);  // three attempts each time
  });
}

TEST(FailureTest, TheHoldOfAParkedElementShowsInTheSnapshot) {
  ManualClock clock(1'000'000);
  MemoryFileSystem fs;
  std::vector<int64_t> tries_us;
  engine::EpochId sealed = 0;
  for (const bool succeeds : {false, true}) {
    PipelineOptions options;
    options.clock = &clock;
    options.fs = &fs;
    options.state_dir = "/job";
    options.workers = 1;
    options.deterministic_seed = 3;
    options.allow_unsafe_triggers = true;
    Pipeline pipeline(options);
    Collector<std::string> words;
    // The pane of the element is the one that it was parked with, also after a restart.
    pipeline | "Words" >> TestStream<std::string>()
                              .AddTimestamped({{"poison", EventTime::FromSeconds(2)}})
                              .AdvanceWatermarkTo(EventTime::FromSeconds(12))
                              .AdvanceWatermarkToInfinity()
             | "Pair" >> Map([](const std::string& word) { return KV<std::string, std::string>{word, word}; })
             | "Tens" >> Tens().Triggering(Trigger::AfterCount(1)) | "Group" >> GroupByKey()
             | "Word" >> Map([](const KV<std::string, std::vector<std::string>>& group) { return group.key; })
             | "Flaky" >> ParDo<std::string>(FailsUntil{succeeds ? 0 : INT64_MAX, &tries_us}).OnFailure(FailurePolicy::kRetry)
             | "Collect" >> Collect(&words);
    const auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    if (succeeds) clock.AdvanceMicros(3'600'000'000);
    const Status status = (*job)->Run();
    const auto snapshot = (*job)->Snapshot();
    const auto flaky = std::find_if(snapshot.steps.begin(), snapshot.steps.end(),
                                    [](const auto& step) { return step.name == "Flaky"; });
    if (!succeeds) {
      EXPECT_FALSE(status.ok());  // nothing can move: the clock stands
      EXPECT_EQ(flaky->input_watermark, EventTime::Max());
      EXPECT_EQ(flaky->output_watermark, EventTime::FromSeconds(10) - Micros(1));  // the pane's timestamp
      EXPECT_EQ(flaky->failed, 1);
      EXPECT_EQ(flaky->parked.count, 1);
      EXPECT_EQ(flaky->parked.holds, flaky->output_watermark);
      EXPECT_EQ(flaky->parked.oldest_since_us, 1'000'000);
      EXPECT_EQ(flaky->parked.error, "not yet");
      sealed = (*job)->last_sealed();
      EXPECT_GT(sealed, 0u);
    } else {
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(flaky->parked.count, 0);
      EXPECT_EQ(flaky->parked.holds, EventTime::Max());
      ASSERT_EQ(words.elements().size(), 1u);
      EXPECT_EQ(words.elements()[0].pane.timing, PaneTiming::kEarly);
      EXPECT_EQ(words.elements()[0].window.end, EventTime::FromSeconds(10));
      EXPECT_EQ(flaky->output_watermark, EventTime::Max());
    }
  }
}

// A parked element is logged once, whatever else is parked and however often it is tried, and counts against what may wait.
TEST(FailureTest, ParkedElementsAreLoggedOnceAndCounted) {
  bool mended = false;
  const auto fn = [&mended](const std::string& word, const ElementContext&, OutputReceiver<std::string>& out) {
    if (!mended) throw std::runtime_error("not yet");
    out.Output(word);
  };
  using Flaky = engine::ParDoOperator<std::string, decltype(fn), std::string>;
  ManualClock clock(1'000'000);
  engine::JobOptions options;
  options.clock = &clock;
  engine::JobContext job(options);
  std::vector<engine::EpochRecords> log;
  const auto mark = [&](engine::Operator& op) {
    ASSERT_TRUE(op.OnMarker(log.size() + 1, &log.emplace_back()).ok());
  };
  constexpr int kParked = 300;
  Flaky flaky(fn, FailurePolicy::kRetry);
  ASSERT_TRUE(flaky.Open({&job, {}, "Flaky", 1, 2}, 2).ok());
  for (int i = 0; i < kParked; ++i) {
    auto batch = std::make_unique<engine::TypedBatch<std::string>>();
    batch->Append("word", EventTime::FromSeconds(i), Window::Global(), PaneInfo::NoFiring());
    ASSERT_TRUE(flaky.Process(0, std::move(batch)).ok());
    mark(flaky);
    EXPECT_LT(log.back().size_bytes(), 100u);
  }
  EXPECT_GT(job.undelivered_bytes(), size_t{kParked} * 256);
  clock.AdvanceMicros(1'500'000);
  ASSERT_TRUE(flaky.OnProcessingTime(job.Now()).ok());  // every one fails again
  mark(flaky);
  EXPECT_LT(log.back().size_bytes(), size_t{kParked} * 20);

  // Another worker takes over after a crash, as if there were only one now.
  engine::JobContext next_job(options);
  Flaky next(fn, FailurePolicy::kRetry);
  const auto restore = [&](Flaky& into) {
    for (const engine::EpochRecords& records : log) {
      engine::RecordReader reader(records.bytes());
      engine::RecordView record;
      while (reader.Next(&record)) ASSERT_TRUE(into.Restore(record.key.unit, record.replaces, record.payload).ok());
    }
  };
  ASSERT_TRUE(next.Open({&next_job, {}, "Flaky", 0, 1}, 2).ok());
  restore(next);
  EXPECT_GT(next_job.undelivered_bytes(), size_t{kParked} * 256);
  EXPECT_EQ(next.AdvanceWatermark(EventTime::Max()).value(), EventTime::FromSeconds(0));
  mark(next);
  mended = true;
  ASSERT_TRUE(next.OnProcessingTime(next_job.Now()).ok());
  EXPECT_EQ(next.output(0).elements(), kParked);
  EXPECT_EQ(next_job.undelivered_bytes(), 0u);
  EXPECT_EQ(next.AdvanceWatermark(EventTime::Max()).value(), EventTime::Max());
  mark(next);
  // Nothing is left in the log.
  engine::JobContext last_job(options);
  Flaky last(fn, FailurePolicy::kRetry);
  ASSERT_TRUE(last.Open({&last_job, {}, "Flaky", 0, 1}, 2).ok());
  restore(last);
  EXPECT_EQ(last_job.undelivered_bytes(), 0u);
  EXPECT_EQ(last.AdvanceWatermark(EventTime::Max()).value(), EventTime::Max());
}

TEST(FailureTest, ATypeThatCannotBeParkedIsRefusedAtTheStart) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  pipeline | "Words" >> Create<std::string>(std::vector<std::string>{"a"})
           | "Take" >> ParDo<std::string>([](std::string&& word, OutputReceiver<std::string>& out) {
               out.Output(word);
             }).OnFailure(FailurePolicy::kRetry);
  const Status status = pipeline.Run();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Take'"));
}

struct ThrowingSum : Sum<int64_t> {
  void AddInput(int64_t&, const int64_t&) const { throw 42; }
};

TEST(FailureTest, WhatACombineFnThrowsFailsTheJob) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{0}}) {
    PipelineOptions options;
    options.workers = 2;
    options.deterministic_seed = seed;
    Pipeline pipeline(options);
    pipeline | "Pairs" >> Create<KV<std::string, int64_t>>(std::vector<KV<std::string, int64_t>>{{"a", 1}})
             | "Sum" >> CombinePerKey(ThrowingSum());
    const Status status = pipeline.Run();
    EXPECT_TRUE(absl::IsInternal(status)) << status;
  }
}

}  // namespace
}  // namespace hornbeam
