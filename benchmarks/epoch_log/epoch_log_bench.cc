// What an epoch costs: Seal on a real disk, by size of the epoch, and recovery.
//
// Logs go to $HORNBEAM_BENCH_DIR, or to a folder of the working directory, and are removed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "engine/epoch/job_log.h"

namespace hornbeam::engine {
namespace {

constexpr uint32_t kSlices = 256;
constexpr OperatorId kOp{1};

class LogDirectory {
 public:
  LogDirectory() {
    const char* const parent = std::getenv("HORNBEAM_BENCH_DIR");
    path_ = std::string(parent != nullptr ? parent : ".") + "/epoch_log_bench.XXXXXX";
    HB_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~LogDirectory() { std::filesystem::remove_all(path_); }
  std::unique_ptr<JobLog> Open() const {
    auto log = JobLog::Open(FileSystem::Posix(), path_, {.job_id = "bench", .seed = 1});
    HB_CHECK(log.ok());
    return *std::move(log);
  }

 private:
  std::string path_;
};

// Two workers, each with a record for half of the slices.
std::vector<EpochRecords> MakeParts(size_t epoch_bytes) {
  std::vector<EpochRecords> parts(2);
  const std::string payload(epoch_bytes / kSlices, 'x');
  for (uint32_t slice = 0; slice < kSlices; ++slice) {
    parts[slice % 2].Add(kOp, slice, /*replaces=*/true, payload);
  }
  return parts;
}

double MicrosAt(const std::vector<double>& sorted, double quantile) {
  return sorted[static_cast<size_t>(quantile * static_cast<double>(sorted.size() - 1))];
}

void BM_Seal(benchmark::State& state) {
  const LogDirectory directory;
  const std::unique_ptr<JobLog> log = directory.Open();
  const std::vector<EpochRecords> parts = MakeParts(static_cast<size_t>(state.range(0)));
  const EpochRecords* const pointers[] = {&parts[0], &parts[1]};
  std::vector<double> micros;
  EpochId epoch = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    HB_CHECK(log->Seal(++epoch, pointers).ok());
    micros.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(micros.begin(), micros.end());
  state.counters["p50_us"] = MicrosAt(micros, 0.5);
  state.counters["p99_us"] = MicrosAt(micros, 0.99);
  state.counters["max_us"] = micros.back();
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(parts[0].size_bytes() + parts[1].size_bytes()));
}
BENCHMARK(BM_Seal)->Arg(0)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20)->Arg(16 << 20)->UseRealTime();

void BM_NoteSync(benchmark::State& state) {
  const LogDirectory directory;
  const std::unique_ptr<JobLog> log = directory.Open();
  for (auto _ : state)
    HB_CHECK(log->AppendNote(kOp, 0, /*replaces=*/true, "offset", /*sync=*/true).ok());
}
BENCHMARK(BM_NoteSync)->UseRealTime();

void BM_AddRecords(benchmark::State& state) {
  EpochRecords records;
  const std::string payload(100, 'x');
  for (auto _ : state) {
    records.Clear();
    for (uint32_t n = 0; n < 1'000; ++n) records.Add(kOp, n % kSlices, false, payload);
    benchmark::DoNotOptimize(records.bytes().data());
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(BM_AddRecords);

class Ignore final : public ReplayVisitor {
 public:
  Status OnRecord(EpochId, OperatorId, uint32_t, bool, std::string_view payload) override {
    benchmark::DoNotOptimize(payload.data());
    return absl::OkStatus();
  }
  Status OnNote(OperatorId, uint32_t, bool, std::string_view) override { return absl::OkStatus(); }
};

// Open, which verifies, and replay, of 256 MiB of live records.
void BM_Recover(benchmark::State& state) {
  const LogDirectory directory;
  {
    const std::unique_ptr<JobLog> log = directory.Open();
    EpochRecords part;
    for (uint32_t slice = 0; slice < kSlices; ++slice) {
      part.Add(kOp, slice, /*replaces=*/false, std::string(16 << 10, 'x'));
    }
    const EpochRecords* const pointers[] = {&part};
    for (EpochId epoch = 1; epoch <= 64; ++epoch) HB_CHECK(log->Seal(epoch, pointers).ok());
  }
  uint64_t bytes = 0;
  for (auto _ : state) {
    const std::unique_ptr<JobLog> log = directory.Open();
    Ignore ignore;
    HB_CHECK(log->Recover(&ignore).ok());
    bytes += log->size_bytes();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Recover)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace hornbeam::engine

BENCHMARK_MAIN();
