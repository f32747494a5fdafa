// What a DoFn costs per element on one core: without state, with a count per key, with a timer per key. The operators alone, with
// batches as an exchange hands them over; a marker after every hundred, as about every 20 ms.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "engine/job/job_context.h"
#include "hornbeam/hornbeam.h"

namespace hornbeam {
namespace {

using Event = KV<std::string, int64_t>;
using EventBatch = engine::TypedBatch<Event>;
constexpr size_t kBatchSize = 1024;
constexpr int kBatchesPerEpoch = 100;

// Batches of events of `keys` keys at random, in one window.
std::vector<EventBatch> MakeBatches(int64_t keys) {
  Rng rng(1);
  std::vector<EventBatch> batches(64);
  for (EventBatch& batch : batches) {
    for (size_t i = 0; i < kBatchSize; ++i) {
      const std::string key = absl::StrCat("customer-", rng.Below(static_cast<uint64_t>(keys)));
      batch.hashes.push_back(model::HashKey(key));
      batch.Append({key, 1}, EventTime::FromSeconds(1), Window::Global(), PaneInfo::NoFiring());
    }
  }
  return batches;
}

void Run(benchmark::State& state, engine::Operator& op) {
  const std::vector<EventBatch> batches = MakeBatches(state.range(0));
  engine::JobContext job{engine::JobOptions()};
  if (!op.Open({&job, {}, "Fn", 0, 1}, 2).ok()) return state.SkipWithError("the operator does not open");
  engine::EpochRecords records;
  int64_t n = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto batch = batches[static_cast<size_t>(n) % batches.size()].Clone();
    state.ResumeTiming();
    if (!op.Process(0, std::move(batch)).ok()) return state.SkipWithError("a batch has failed");
    if (++n % kBatchesPerEpoch == 0) {
      records.Clear();
      if (!op.OnMarker(static_cast<engine::EpochId>(n), &records).ok()) return state.SkipWithError("a marker has failed");
    }
  }
  state.SetItemsProcessed(n * static_cast<int64_t>(kBatchSize));
}

void StatelessParDo(benchmark::State& state) {
  const auto fn = [](const Event& event, const ElementContext&, OutputReceiver<int64_t>& out) {
    if (event.value != 1) out.Output(event.value);
  };
  engine::ParDoOperator<Event, decltype(fn), int64_t> op(fn, FailurePolicy::kFail);
  Run(state, op);
}
BENCHMARK(StatelessParDo)->Arg(1000);

struct CountFn : StatefulDoFn {
  ValueState<int64_t> count{"count"};
  void ProcessElement(const Event&, OutputReceiver<int64_t>& out) {
    count.Write(count.Read() + 1);
    if (count.Read() < 0) out.Output(1);
  }
};

struct TimerFn : StatefulDoFn {
  ValueState<int64_t> count{"count"};
  EventTimer flush{"flush"};
  void ProcessElement(const Event&, const ElementContext& context, OutputReceiver<int64_t>&) {
    count.Write(count.Read() + 1);
    flush.Set(context.timestamp() + Seconds(60));
  }
  void OnTimer(const std::string&, const TimerContext&, OutputReceiver<int64_t>&) {}
};

struct BagFn : StatefulDoFn {
  BagState<int64_t> values{"values"};
  void ProcessElement(const Event& event, OutputReceiver<int64_t>&) {
    values.Add(event.value);
    if (values.size() == 100) values.Clear();
  }
};

template <typename Fn>
void StatefulParDo(benchmark::State& state) {
  using Caller = internal::DoFnCaller<Fn>;
  engine::StatefulParDoOperator<std::string, int64_t, Caller, int64_t> op(WindowingStrategy(), Caller{Fn()}, {});
  Run(state, op);
}
BENCHMARK(StatefulParDo<CountFn>)->Arg(1000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(StatefulParDo<BagFn>)->Arg(1000)->Arg(100'000);
BENCHMARK(StatefulParDo<TimerFn>)->Arg(1000)->Arg(100'000);

}  // namespace
}  // namespace hornbeam

BENCHMARK_MAIN();
