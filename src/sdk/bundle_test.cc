// The life of a DoFn: setup, bundles, finalisers, teardown.
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
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// Keeps the elements of a bundle, and puts them out at its end, where they lie.
struct Hoard {
  struct Kept {
    int64_t value;
    EventTime timestamp;
    Window window;
  };
  std::vector<Kept> kept{};
  bool is_open = false;

  void StartBundle() {
    if (is_open || !kept.empty()) throw std::logic_error("a bundle has begun in another");
    is_open = true;
  }
  void ProcessElement(const int64_t& value, const ElementContext& context, OutputReceiver<int64_t>&) {
    if (!is_open) throw std::logic_error("an element outside of a bundle");
    kept.push_back({value, context.timestamp(), context.window()});
  }
  void FinishBundle(BundleOutput<int64_t>& out) {
    for (const Kept& k : kept) out.Output(k.value, k.timestamp, k.window);
    kept.clear();
    is_open = false;
  }
};

// Nothing is lost at a crash, nothing is late, and every element comes out where it came in.
TEST(BundleTest, WhatABundleKeepsComesOutBeforeTheMarkerAndTheWatermark) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<KV<std::string, int64_t>> sums;
    Collector<int64_t> values;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      TestStream<int64_t> numbers = TestStream<int64_t>().AdvanceWatermarkTo(At(0));
      for (int64_t s = 0; s < 40; ++s) numbers = numbers.AddTimestamped({{s, At(s)}, {100 + s, At(s + 3)}}).AdvanceWatermarkTo(At(s));
      const auto hoarded = pipeline | "Numbers" >> numbers.AdvanceWatermarkToInfinity()
                           | "Tens" >> WindowInto(FixedWindows(Seconds(10))) | "Hoard" >> ParDo<int64_t>(Hoard());
      hoarded | "Values" >> Collect(&values);
      hoarded | "Pair" >> Map([](int64_t value) { return KV<std::string, int64_t>{"sum", value}; })
              | "Sum" >> CombinePerKey(Sum<int64_t>()) | "Sums" >> Collect(&sums);
    });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<int64_t> expected;
    for (int64_t s = 0; s < 40; ++s) expected.insert(expected.end(), {s, 100 + s});
    EXPECT_THAT(values.values(), UnorderedElementsAreArray(expected));
    int64_t total = 0;
    for (const auto& sum : sums.elements()) {
      EXPECT_EQ(sum.pane.timing, PaneTiming::kOnTime);
      total += sum.value.value;
    }
    EXPECT_EQ(total, 2 * (39 * 40 / 2) + 40 * 100);  // none was dropped as late
    for (const auto& value : values.elements()) {
      const int64_t s = value.value >= 100 ? value.value - 97 : value.value;
      EXPECT_EQ(value.timestamp, At(s));
      EXPECT_EQ(value.window, FixedWindows(Seconds(10)).AssignOne(At(s)));
    }
  });
}

struct Lives {
  std::vector<std::string>* events;
  void Setup() { events->push_back("setup"); }
  void StartBundle() { events->push_back("start"); }
  void ProcessElement(const int64_t& value, OutputReceiver<int64_t>& out) {
    events->push_back(absl::StrCat(value));
    out.Output(value);
  }
  void FinishBundle() { events->push_back("finish"); }
  void Teardown() { events->push_back("teardown"); }
};

TEST(BundleTest, ALifeInOrder) {
  std::vector<std::string> events;
  {
    PipelineOptions options;
    options.deterministic_seed = 1;
    options.workers = 1;
    Pipeline pipeline(options);
    // The second element is one that the first watermark would pass.
    pipeline | "Numbers" >> TestStream<int64_t>()
                                .AddTimestamped({{1, At(1)}})
                                .AdvanceWatermarkTo(At(2))
                                .AddTimestamped({{2, At(5)}, {3, At(6)}})
                                .AdvanceWatermarkToInfinity()
             | "Live" >> ParDo<int64_t>(Lives{&events});
    const Status status = pipeline.Run();
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_THAT(events, testing::Not(testing::IsEmpty()));
  EXPECT_EQ(events.front(), "setup");
  EXPECT_EQ(events.back(), "teardown");
  const auto at = [&](const std::string& event, size_t from = 0) {
    return static_cast<size_t>(std::find(events.begin() + static_cast<std::ptrdiff_t>(from), events.end(), event) - events.begin());
  };
  EXPECT_EQ(at("start"), 1u);
  EXPECT_EQ(at("1"), 2u);
  EXPECT_EQ(at("finish"), 3u);
  EXPECT_EQ(at("start", 3), 4u);
  EXPECT_LT(at("3"), at("finish", at("2")));
  EXPECT_EQ(std::count(events.begin(), events.end(), "start"), std::count(events.begin(), events.end(), "finish"));
  EXPECT_EQ(std::count(events.begin(), events.end(), "setup"), 1);
}

struct ThrowsIn {
  std::string where;
  void Throw(const char* here) const {
    if (where == here) throw std::runtime_error("the service is away");
  }
  void Setup() { Throw("Setup"); }
  void StartBundle() { Throw("StartBundle"); }
  void ProcessElement(const int64_t& value, OutputReceiver<int64_t>& out) { out.Output(value); }
  void FinishBundle() { Throw("FinishBundle"); }
};

TEST(BundleTest, WhatThrowsOutsideOfAnElementFailsTheJob) {
  for (const char* where : {"Setup", "StartBundle", "FinishBundle"}) {
    PipelineOptions options;
    options.deterministic_seed = 1;
    Pipeline pipeline(options);
    pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{1})
             | "Call" >> ParDo<int64_t>(ThrowsIn{where}).OnFailure(FailurePolicy::kRetry);
    const Status status = pipeline.Run();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'Call'"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(where, " failed: the service is away")));
  }
}

// What is registered runs once its epoch is sealed, not before; of an element that failed it never runs.
struct Registers {
  std::vector<int64_t>* finalized;
  engine::Job** job;
  void ProcessElement(const int64_t& value, const ElementContext& context, OutputReceiver<int64_t>& out) {
    context.bundle_finalizer().AfterBundleCommit([finalized = finalized, value] { finalized->push_back(value); });
    context.bundle_finalizer().AfterBundleCommit([] { throw std::runtime_error("told, and nothing else"); });
    if (value == 2) throw std::runtime_error("it is two");
    out.Output(value);
  }
  void FinishBundle(BundleFinalizer& finalizer, BundleOutput<int64_t>&) {
    finalizer.AfterBundleCommit([finalized = finalized] { finalized->push_back(-1); });
  }
};

TEST(BundleTest, FinalizersRunBehindTheSeal) {
  MemoryFileSystem fs;
  std::vector<int64_t> finalized;
  Collector<int64_t> values;
  PipelineOptions options;
  options.deterministic_seed = 1;
  options.fs = &fs;
  options.state_dir = "/job";
  options.workers = 1;
  Pipeline pipeline(options);
  const auto registered = pipeline | "Numbers" >> Create<int64_t>(std::vector<int64_t>{1, 2, 3})
                          | "Register" >> ParDo<int64_t>(Registers{&finalized, nullptr}).WithFailures();
  registered.main() | "Values" >> Collect(&values);
  registered.failures() | "Failed" >> Map([](const FailedElement& failed) { return failed.element; });
  Collector<std::string> failures;
  registered.failures() | "Failures" >> Map([](const FailedElement& failed) { return failed.error; })
                        | "CollectFailures" >> Collect(&failures);
  const Status status = pipeline.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(finalized, ElementsAre(1, 3, -1));
  EXPECT_THAT(failures.values(), ElementsAre("it is two"));
}

}  // namespace
}  // namespace hornbeam
