// State in DoFns: every kind against plain containers, in every mode; what goes, and what stays, with windows and restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/memory_file_system.h"
#include "base/rng.h"
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

using Count = KV<std::string, int64_t>;
EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

// What an element asks for: pairs of an operation and its operand.
using Steps = std::vector<int64_t>;
enum Operation : int64_t {
  kWrite, kClearValue, kMutate, kBagAdd, kBagClear, kBagTake, kCombine, kClearCombined, kPut, kRemove, kClearMap,
  kSetAdd, kSetRemove, kMultiPut, kMultiRemove, kListAdd, kListClearRange, kOperations, kThrow
};

std::string Render(const std::string& value, const std::vector<int64_t>& bag, int64_t sum, const std::string& map,
                   const std::string& set, const std::string& multimap, const std::string& list) {
  return absl::StrCat(value, " [", absl::StrJoin(bag, ","), "] ", sum, " {", map, "} {", set, "} {", multimap, "} (", list, ")");
}

struct Everything : StatefulDoFn {
  ValueState<std::string> value{"value"};
  BagState<int64_t> bag{"bag"};
  CombiningState<Sum<int64_t>> sum{"sum"};
  MapState<int64_t, std::string> map{"map"};
  SetState<int64_t> set{"set"};
  MultimapState<int64_t, int64_t> multimap{"multimap"};
  OrderedListState<int64_t> list{"list"};

  void Do(int64_t operation, int64_t n) {
    switch (operation) {
      case kWrite: value.Write(absl::StrCat("v", n)); break;
      case kClearValue: value.Clear(); break;
      case kMutate: value.Mutable() += "+"; break;
      case kBagAdd: bag.Add(n); break;
      case kBagClear: bag.Clear(); break;
      case kBagTake: sum.Add(static_cast<int64_t>(bag.Take().size())); break;
      case kCombine: sum.Add(n); break;
      case kClearCombined: sum.Clear(); break;
      case kPut: map.Put(n, absl::StrCat("m", n)); break;
      case kRemove: map.Remove(n); break;
      case kClearMap: map.Clear(); break;
      case kSetAdd: set.Add(n); break;
      case kSetRemove: set.Remove(n); break;
      case kMultiPut: multimap.Put(n % 3, n); break;
      case kMultiRemove: multimap.Remove(n % 3); break;
      case kListAdd: list.Add(At(n % 4), n); break;
      case kListClearRange: list.ClearRange(At(n % 4), At(n % 4 + 2)); break;
      case kThrow: throw std::runtime_error("asked to");
    }
  }
  void ProcessElement(const KV<std::string, Steps>& element, const ElementContext&, OutputReceiver<std::string>& out) {
    out.Output("this must not be seen of an element that throws");
    for (size_t i = 0; i < element.value.size(); i += 2) Do(element.value[i], element.value[i + 1]);
    std::vector<std::string> entries, lists;
    map.ForEach([&](int64_t k, const std::string& v) { entries.push_back(absl::StrCat(k, ":", v)); });
    multimap.ForEach([&](int64_t k, const std::vector<int64_t>& v) { lists.push_back(absl::StrCat(k, ":", absl::StrJoin(v, "+"))); });
    out.Output(absl::StrCat(element.key, " ",
                            Render(value.Read(), bag.Read(), sum.Read(), absl::StrJoin(entries, ","), absl::StrJoin(set.Read(), ","),
                                   absl::StrJoin(lists, ","), absl::StrJoin(list.Read(), ","))));
  }
};

// The same with plain containers.
struct Plain {
  std::string value;
  std::vector<int64_t> bag;
  int64_t sum = 0;
  std::map<int64_t, std::string> map;
  std::set<int64_t> set;
  std::map<int64_t, std::vector<int64_t>> multimap;
  std::multimap<int64_t, int64_t> list;

  bool Do(int64_t operation, int64_t n) {
    switch (operation) {
      case kWrite: value = absl::StrCat("v", n); break;
      case kClearValue: value.clear(); break;
      case kMutate: value += "+"; break;
      case kBagAdd: bag.push_back(n); break;
      case kBagClear: bag.clear(); break;
      case kBagTake: sum += static_cast<int64_t>(bag.size()); bag.clear(); break;
      case kCombine: sum += n; break;
      case kClearCombined: sum = 0; break;
      case kPut: map[n] = absl::StrCat("m", n); break;
      case kRemove: map.erase(n); break;
      case kClearMap: map.clear(); break;
      case kSetAdd: set.insert(n); break;
      case kSetRemove: set.erase(n); break;
      case kMultiPut: multimap[n % 3].push_back(n); break;
      case kMultiRemove: multimap.erase(n % 3); break;
      case kListAdd: list.insert({n % 4, n}); break;
      case kListClearRange: list.erase(list.lower_bound(n % 4), list.lower_bound(n % 4 + 2)); break;
      case kThrow: return false;
    }
    return true;
  }
  std::string Text() const {
    std::vector<std::string> entries, lists;
    for (const auto& [k, v] : map) entries.push_back(absl::StrCat(k, ":", v));
    for (const auto& [k, v] : multimap) lists.push_back(absl::StrCat(k, ":", absl::StrJoin(v, "+")));
    std::vector<int64_t> in_order;
    for (const auto& [time, v] : list) in_order.push_back(v);
    return Render(value, bag, sum, absl::StrJoin(entries, ","), absl::StrJoin(set, ","), absl::StrJoin(lists, ","),
                  absl::StrJoin(in_order, ","));
  }
};

TEST(StateTest, EveryKindIsWhatPlainContainersAreAndAFailedElementLeavesNothing) {
  const WindowFn tens = FixedWindows(Seconds(10));
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng rng(seed);
    TestStream<KV<std::string, Steps>> events = TestStream<KV<std::string, Steps>>().AdvanceWatermarkTo(At(0));
    std::map<std::pair<std::string, Window>, Plain> plain;
    std::vector<std::string> expected, failed_keys;
    for (int64_t s = 0; s < 120; ++s) {
      std::vector<TimestampedValue<KV<std::string, Steps>>> batch;
      for (int n = 0; n < 3; ++n) {
        const std::string key = absl::StrCat("k", rng.Below(4));
        const EventTime at = At(s / 3 + static_cast<int64_t>(rng.Below(5)));
        Steps steps;
        for (uint64_t left = 1 + rng.Below(5); left > 0; --left) {
          steps.push_back(static_cast<int64_t>(rng.Below(kOperations)));
          steps.push_back(static_cast<int64_t>(rng.Below(8)));
        }
        if (rng.OneIn(4)) steps.insert(steps.end(), {kThrow, 0, kWrite, 1});
        batch.push_back({{key, steps}, at});
        Plain& now = plain[{key, tens.AssignOne(at)}];
        Plain next = now;
        bool ok = true;
        for (size_t i = 0; i < steps.size() && ok; i += 2) ok = next.Do(steps[i], steps[i + 1]);
        if (!ok) {
          failed_keys.push_back(key);
          continue;
        }
        now = next;
        expected.push_back("this must not be seen of an element that throws");
        expected.push_back(absl::StrCat(key, " ", now.Text()));
      }
      events = events.AddTimestamped(std::move(batch)).AdvanceWatermarkTo(At(s / 3));
    }
    events = events.AdvanceWatermarkToInfinity();
    ForEachMode(1, [&](const TestMode& mode) {
      SCOPED_TRACE(absl::StrCat(ToString(mode), ", events ", seed));
      Collector<std::string> texts, failures;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        pipeline.options().log_segment_bytes = 4000;  // so that cells are written again, and replayed from there
        pipeline.options().log_rewrite_above_bytes = 8000;
        const auto all = pipeline | "Events" >> events | "Tens" >> WindowInto(tens)
                         | "Everything" >> ParDo<std::string>(Everything()).WithFailures();
        all.main() | "Texts" >> Collect(&texts);
        all.failures() | "Error" >> Map([](const FailedElement& failed) { return failed.error; }) | "Failures" >> Collect(&failures);
      });
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(texts.values(), UnorderedElementsAreArray(expected));
      EXPECT_EQ(failures.values().size(), failed_keys.size());
    });
  }
}

struct CountPerKey : StatefulDoFn {
  ValueState<int64_t> count{"count"};
  void ProcessElement(const Count& element, OutputReceiver<Count>& out) {
    count.Write(count.Read() + element.value);
    out.Output({element.key, count.Read()});
  }
};

TEST(StateTest, IsOfAWindowAndWhatComesBehindItsEndIsDropped) {
  ForEachMode(2, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Count> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> TestStream<Count>()
                                 .AdvanceWatermarkTo(At(0))
                                 .AddTimestamped({{{"a", 1}, At(1)}, {{"a", 1}, At(2)}, {{"a", 1}, At(11)}})
                                 .AdvanceWatermarkTo(At(12))
                                 .AddTimestamped({{{"a", 1}, At(3)}})  // within the lateness
                                 .AdvanceWatermarkTo(At(16))
                                 .AddTimestamped({{{"a", 100}, At(4)}, {{"a", 1}, At(12)}})  // the first is too late
                                 .AdvanceWatermarkToInfinity()
               | "Tens" >> WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(5))
               | "Count" >> ParDo<Count>(CountPerKey()) | "Counts" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Count{"a", 1}, Count{"a", 2}, Count{"a", 1}, Count{"a", 3}, Count{"a", 2}));
  });
}

TEST(StateTest, WhatIsDroppedIsCounted) {
  PipelineOptions options;
  options.deterministic_seed = 1;
  Pipeline pipeline(options);
  pipeline | "Events" >> TestStream<Count>()
                             .AdvanceWatermarkTo(At(20))
                             .AddTimestamped({{{"a", 1}, At(1)}, {{"b", 1}, At(21)}})
                             .AdvanceWatermarkToInfinity()
           | "Tens" >> WindowInto(FixedWindows(Seconds(10))) | "Count" >> ParDo<Count>(CountPerKey());
  const auto job = pipeline.MakeJob();
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE((*job)->Run().ok());
  for (const auto& step : (*job)->Snapshot().steps) EXPECT_EQ(step.dropped_late, step.name == "Count" ? 1 : 0) << step.name;
}

// The last word on each key of a window, with what it had; its outputs are on time.
struct SayLast : StatefulDoFn {
  BagState<int64_t> seen{"seen"};
  void ProcessElement(const Count& element, OutputReceiver<std::string>&) {
    if (element.value != 0) seen.Add(element.value);
  }
  void OnWindowExpiration(const std::string& key, const ExpirationContext& context, OutputReceiver<std::string>& out) {
    out.Output(absl::StrCat(key, " ", context.window().end.us / 1'000'000, " ", absl::StrJoin(seen.Read(), "+")));
    if (key == "bad") throw std::runtime_error("a bad end");
  }
};

TEST(StateTest, OnWindowExpirationIsCalledOnceForEachKeyOfAWindow) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<std::string> last;
    Collector<KV<std::string, std::vector<std::string>>> grouped;
    Collector<std::string> failures;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      const auto said = pipeline | "Events" >> TestStream<Count>()
                                                   .AdvanceWatermarkTo(At(0))
                                                   .AddTimestamped({{{"a", 1}, At(1)}, {{"b", 2}, At(2)}, {{"a", 3}, At(11)}})
                                                   .AdvanceWatermarkTo(At(12))
                                                   .AddTimestamped({{{"a", 4}, At(3)}, {{"nothing", 0}, At(4)}, {{"bad", 9}, At(5)}})
                                                   .AdvanceWatermarkTo(At(14))
                                                   .AddTimestamped({{{"b", 5}, At(6)}})
                                                   .AdvanceWatermarkToInfinity()
                        | "Tens" >> WindowInto(FixedWindows(Seconds(10))).WithAllowedLateness(Seconds(5))
                        | "Last" >> ParDo<std::string>(SayLast()).WithFailures();
      said.main() | "Collect" >> Collect(&last);
      said.main() | "Pair" >> Map([](const std::string& text) { return KV<std::string, std::string>{"all", text}; })
                  | "Group" >> GroupByKey() | "Grouped" >> Collect(&grouped);
      said.failures() | "Error" >> Map([](const FailedElement& failed) { return failed.error; }) | "Failures" >> Collect(&failures);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(last.values(), UnorderedElementsAre("a 10 1+4", "b 10 2+5", "nothing 10 ", "a 20 3"));
    EXPECT_THAT(failures.values(), UnorderedElementsAre("OnWindowExpiration: a bad end"));
    for (const auto& element : last.elements()) EXPECT_EQ(element.timestamp, element.window.MaxTimestamp());
    // It has held the watermark at the end of its window, so downstream they are on time.
    ASSERT_EQ(grouped.values().size(), 2u);
    for (const auto& element : grouped.elements()) EXPECT_EQ(element.pane.timing, PaneTiming::kOnTime);
  });
}

TEST(StateTest, GoesAfterItsTimeToLive) {
  ForEachMode(3, [](const TestMode& mode) {
    SCOPED_TRACE(ToString(mode));
    Collector<Count> counts;
    const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
      pipeline | "Events" >> TestStream<Count>()
                                 .AddTimestamped({{{"a", 1}, At(1)}, {{"b", 1}, At(1)}})
                                 .AdvanceProcessingTime(Seconds(40))
                                 .AddTimestamped({{{"a", 1}, At(2)}})
                                 .AdvanceProcessingTime(Seconds(40))  // b was not written for 80 s, a for 40 s
                                 .AddTimestamped({{{"a", 1}, At(3)}, {{"b", 1}, At(3)}})
                                 .AdvanceProcessingTime(Seconds(61))
                                 .AddTimestamped({{{"a", 1}, At(4)}})
                                 .AdvanceWatermarkToInfinity()
               | "Count" >> ParDo<Count>(CountPerKey()).WithStateTtl(Seconds(60)) | "Counts" >> Collect(&counts);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(counts.values(), UnorderedElementsAre(Count{"a", 1}, Count{"a", 2}, Count{"a", 3}, Count{"a", 1}, Count{"b", 1},
                                                      Count{"b", 1}));
  });
}

struct Other : StatefulDoFn {
  ValueState<int64_t> other{"other"};
  void ProcessElement(const Count&, OutputReceiver<Count>&) { other.Write(1); }
};
struct OfAnotherType : StatefulDoFn {
  BagState<int64_t> count{"count"};
  void ProcessElement(const Count&, OutputReceiver<Count>&) { count.Add(1); }
};
struct WithOneMore : StatefulDoFn {
  ValueState<int64_t> more{"more"};
  ValueState<int64_t> count{"count"};
  void ProcessElement(const Count& element, OutputReceiver<Count>& out) {
    more.Write(1);
    count.Write(count.Read() + element.value);
    out.Output({element.key, count.Read()});
  }
};

// Runs the job over the events from number `done` on, as a crash in between would have it.
template <typename Fn>
Status RunPart(MemoryFileSystem* fs, Fn fn, int workers, int epochs, Collector<Count>* counts) {
  PipelineOptions options;
  options.fs = fs;
  options.state_dir = "/job";
  options.workers = workers;
  options.deterministic_seed = 7;
  Pipeline pipeline(options);
  TestStream<Count> events;
  for (int64_t s = 0; s < 40; ++s) events = events.AddTimestamped({{{absl::StrCat("k", s % 9), 1}, At(s)}}).AdvanceWatermarkTo(At(s));
  pipeline | "Events" >> events.AdvanceWatermarkToInfinity() | "Count" >> ParDo<Count>(std::move(fn)) | "Counts" >> Collect(counts);
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
  job->StopAfterEpochs(epochs);
  return job->Run();
}

TEST(StateTest, SurvivesARestartWithAnotherNumberOfWorkersAndAStateMore) {
  MemoryFileSystem fs;
  Collector<Count> counts;
  ASSERT_TRUE(RunPart(&fs, CountPerKey(), 3, 5, &counts).ok());
  ASSERT_TRUE(RunPart(&fs, CountPerKey(), 1, 5, &counts).ok());
  ASSERT_LT(counts.values().size(), 40u);
  ASSERT_TRUE(RunPart(&fs, WithOneMore(), 4, 0, &counts).ok());
  std::vector<Count> expected;
  for (int64_t s = 0; s < 40; ++s) expected.push_back({absl::StrCat("k", s % 9), s / 9 + 1});
  EXPECT_THAT(counts.values(), UnorderedElementsAreArray(expected));
}

TEST(StateTest, AStateThatIsGoneOrOfAnotherTypeIsAClearError) {
  MemoryFileSystem fs;
  Collector<Count> counts;
  ASSERT_TRUE(RunPart(&fs, CountPerKey(), 2, 6, &counts).ok());
  Status status = RunPart(&fs, Other(), 2, 0, &counts);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("a state or timer 'count' of 'Count', which its DoFn does not declare"));
  status = RunPart(&fs, OfAnotherType(), 2, 0, &counts);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'count' of 'Count' as another type than the bag<varint>"));
}

struct TwoOfAName : StatefulDoFn {
  ValueState<int64_t> one{"count"};
  BagState<int64_t> two{"count"};
  void ProcessElement(const Count&, OutputReceiver<Count>&) {}
};
struct UsesStateInABundle : StatefulDoFn {
  ValueState<int64_t> count{"count"};
  void ProcessElement(const Count&, OutputReceiver<Count>&) {}
  void FinishBundle() { count.Write(1); }
};

TEST(StateTest, WhatCannotBeIsRefused) {
  MemoryFileSystem fs;
  Collector<Count> counts;
  Status status = RunPart(&fs, TwoOfAName(), 1, 0, &counts);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("two states or timers of a DoFn are called 'count'"));
  status = RunPart(&fs, UsesStateInABundle(), 1, 0, &counts);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'count' was used where there is no key"));
}

}  // namespace
}  // namespace hornbeam
