// What the engine's state costs, and how fast it is where keys or windows make it hard. One case a run:
//
//   engine_bench hot_key   --events 50000000     half of all elements have one key; sums per 10 s
//   engine_bench sliding   --events 20000000     sums per key over an hour, every minute
//   engine_bench sessions  --events 20000000     counts per key and session
//   engine_bench live_keys --keys 10000000       memory and rate with so many keys in one open window (--long-keys: of 36 bytes;
//                                                --state-memory-mb: some of them on disk)
//   engine_bench recovery  --keys 10000000       how long a job with so many keys takes to come back
//   engine_bench idle      --seconds 20          CPU time of a job whose source has nothing
//
// Exactly-once epochs are on, with state in --state-dir (which is emptied). One JSON line.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/engine/sequence_source.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"

namespace hornbeam::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;
using Pair = KV<int64_t, int64_t>;

struct Settings {
  int64_t events = 20'000'000;
  int64_t keys = 10'000'000;
  int64_t seconds = 20;
  bool long_keys = false;
  PipelineOptions options;
};

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double PeakMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int64_t OutputsOf(const engine::JobSnapshot& snapshot, const std::string& step) {
  for (const engine::StepSnapshot& s : snapshot.steps) {
    if (s.name == step) return s.elements_out.empty() ? s.elements_in : s.elements_out[0];
  }
  return -1;
}

int Fail(const Status& status) {
  std::fprintf(stderr, "engine_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

// Runs to the end and prints the rate.
int Measure(const char* name, const Settings& settings, Pipeline& pipeline, const std::string& last) {
  const auto start = Clock::now();
  const auto job = pipeline.MakeJob();
  if (!job.ok()) return Fail(job.status());
  if (const Status status = (*job)->Run(); !status.ok()) return Fail(status);
  const double seconds = SecondsSince(start);
  const double cpu = CpuSeconds();
  const engine::JobSnapshot snapshot = (*job)->Snapshot();
  absl::PrintF("{\"case\":\"%s\",\"events\":%d,\"rows\":%d,\"seconds\":%.3f,\"events_per_s\":%.0f,\"events_per_cpu_s\":%.0f,"
               "\"peak_rss_mb\":%.1f,\"epochs\":%d,\"workers\":%d}\n",
               name, settings.events, OutputsOf(snapshot, last), seconds, static_cast<double>(settings.events) / seconds,
               static_cast<double>(settings.events) / cpu, PeakMb(), snapshot.sealed_epoch, snapshot.workers);
  return 0;
}

int HotKey(const Settings& settings) {
  Pipeline pipeline(settings.options);
  pipeline | "Events" >> Sequence<Pair>({.elements = settings.events}, settings.options.workers,
                                        [](int64_t n) {
                                          const uint64_t random = Mix(static_cast<uint64_t>(n));
                                          return Pair{random % 2 == 0 ? 0 : static_cast<int64_t>(random >> 8) % 100'000, 1};
                                        })
           | "Window" >> WindowInto(FixedWindows(Seconds(10))) | "Sum" >> CombinePerKey(Sum<int64_t>())
           | "Out" >> Filter([](const Pair& sum) { return sum.value < 0; });
  return Measure("hot_key", settings, pipeline, "Sum/Merge");
}

Pair SpreadPair(int64_t n) { return {static_cast<int64_t>(Mix(static_cast<uint64_t>(n)) % 10'000), 1}; }

// 5,000 events a second of event time over an hour and more: each lies in 60 windows.
int Sliding(const Settings& settings) {
  Pipeline pipeline(settings.options);
  pipeline | "Events" >> Sequence<Pair>({.elements = settings.events, .per_second = 5'000}, settings.options.workers, SpreadPair)
           | "Window" >> WindowInto(SlidingWindows(Hours(1), Minutes(1))) | "Sum" >> CombinePerKey(Sum<int64_t>())
           | "Out" >> Filter([](const Pair& sum) { return sum.value < 0; });
  return Measure("sliding", settings, pipeline, "Sum/Merge");
}

// A key comes for a second at 100 a second, then never again.
int SessionsOfKeys(const Settings& settings) {
  Pipeline pipeline(settings.options);
  pipeline | "Events" >> Sequence<Pair>({.elements = settings.events, .per_second = 100'000}, settings.options.workers,
                                        [](int64_t n) { return Pair{n / 100'000 * 1000 + n % 1000, 1}; })
           | "Window" >> WindowInto(hornbeam::Sessions(Seconds(5))) | "Count" >> CombinePerKey(Sum<int64_t>())
           | "Out" >> Filter([](const Pair& sum) { return sum.value < 0; });
  return Measure("sessions", settings, pipeline, "Count");
}

// So many keys, each seen once and then again, in a window that stays open: the second round finds all of them.
template <typename Key>
void BuildLiveKeys(Pipeline& pipeline, const Settings& settings, int64_t rounds, bool ends, std::function<Key(int64_t)> key_of) {
  pipeline | "Events" >> Sequence<KV<Key, int64_t>>({.elements = settings.keys * rounds, .ends = ends}, settings.options.workers,
                                                    [keys = settings.keys, key_of](int64_t n) {
                                                      return KV<Key, int64_t>{key_of(n % keys), 1};
                                                    })
           | "Window" >> WindowInto(FixedWindows(Hours(1000))) | "Sum" >> CombinePerKey(Sum<int64_t>())
           | "Out" >> Filter([](const KV<Key, int64_t>& sum) { return sum.value < 0; });
}
void BuildLiveKeys(Pipeline& pipeline, const Settings& settings, int64_t rounds, bool ends) {
  if (settings.long_keys) {
    BuildLiveKeys<std::string>(pipeline, settings, rounds, ends, [](int64_t n) {
      return absl::StrFormat("%036x", Mix(static_cast<uint64_t>(n)));
    });
  } else {
    BuildLiveKeys<int64_t>(pipeline, settings, rounds, ends,
                           [](int64_t n) { return static_cast<int64_t>(Mix(static_cast<uint64_t>(n))); });
  }
}

int LiveKeys(Settings settings) {
  settings.events = 2 * settings.keys;
  const double before_mb = PeakMb();
  Pipeline pipeline(settings.options);
  BuildLiveKeys(pipeline, settings, 2, true);
  const int result = Measure("live_keys", settings, pipeline, "Sum/Merge");
  absl::PrintF("{\"case\":\"live_keys\",\"keys\":%d,\"long_keys\":%d,\"bytes_per_key\":%.1f}\n", settings.keys, settings.long_keys,
               (PeakMb() - before_mb) * 1024 * 1024 / static_cast<double>(settings.keys));
  return result;
}

// Fills the state, stops as a crash would, and starts again in a process of its own memory: the caller runs it twice.
int Recovery(const Settings& settings, bool fill) {
  Pipeline pipeline(settings.options);
  BuildLiveKeys(pipeline, settings, 1, false);
  const auto start = Clock::now();
  const auto job = pipeline.MakeJob();
  if (!job.ok()) return Fail(job.status());
  if (const Status status = (*job)->Start(); !status.ok()) return Fail(status);
  if (!fill) {
    const engine::JobSnapshot snapshot = (*job)->Snapshot();
    absl::PrintF("{\"case\":\"recovery\",\"keys\":%d,\"log_mb\":%.1f,\"seconds\":%.3f,\"peak_rss_mb\":%.1f,\"workers\":%d}\n",
                 settings.keys, static_cast<double>(snapshot.log_bytes) / 1e6, SecondsSince(start), PeakMb(), snapshot.workers);
  } else {
    while (OutputsOf((*job)->Snapshot(), "Events") < settings.keys) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // A job at rest seals no more epochs.
    for (engine::EpochId then = 0; then != (*job)->last_sealed();) {
      then = (*job)->last_sealed();
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    const engine::JobSnapshot snapshot = (*job)->Snapshot();
    absl::PrintF("{\"case\":\"fill\",\"keys\":%d,\"log_mb\":%.1f,\"seconds\":%.3f,\"epochs\":%d}\n", settings.keys,
                 static_cast<double>(snapshot.log_bytes) / 1e6, SecondsSince(start), snapshot.sealed_epoch);
  }
  (*job)->Cancel();
  const Status status = (*job)->Wait();
  return status.ok() ? 0 : Fail(status);
}

int Idle(const Settings& settings) {
  Pipeline pipeline(settings.options);
  BuildLiveKeys(pipeline, settings, 1, false);
  const auto job = pipeline.MakeJob();
  if (!job.ok()) return Fail(job.status());
  if (const Status status = (*job)->Start(); !status.ok()) return Fail(status);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double cpu_before = CpuSeconds();
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(settings.seconds));
  const double cpu = CpuSeconds() - cpu_before, seconds = SecondsSince(start);
  absl::PrintF("{\"case\":\"idle\",\"seconds\":%.1f,\"cpu_s\":%.4f,\"percent_of_a_core\":%.3f,\"workers\":%d}\n", seconds, cpu,
               100 * cpu / seconds, settings.options.workers);
  (*job)->Cancel();
  const Status status = (*job)->Wait();
  return status.ok() ? 0 : Fail(status);
}

int Main(int argc, char** argv) {
  CLI::App app("Measures the engine's state, hot keys, windows, recovery and rest.");
  Settings settings;
  std::string name;
  bool second_half = false;
  settings.options.name = "bench";
  settings.options.workers = 2;
  settings.options.state_dir = "engine_bench.state";
  app.add_option("case", name, "hot_key, sliding, sessions, live_keys, recovery or idle")->required();
  app.add_option("--events", settings.events, "How many events");
  app.add_option("--keys", settings.keys, "How many keys");
  app.add_option("--seconds", settings.seconds, "How long to look at a job at rest");
  app.add_option("--workers", settings.options.workers, "Worker threads");
  app.add_option("--state-dir", settings.options.state_dir, "Where the job keeps its state; emptied");
  app.add_option_function<size_t>(
      "--state-memory-mb", [&](size_t mb) { settings.options.state_memory_bytes = mb << 20; },
      "What the state may take in memory; the rest goes to disk");
  app.add_flag("--long-keys", settings.long_keys, "Keys are strings of 36 bytes");
  app.add_flag("--recover", second_half, "recovery: come back from what the run without this flag left");
  CLI11_PARSE(app, argc, argv);
  if (name == "idle") settings.keys = 1000;
  if (!second_half) std::filesystem::remove_all(settings.options.state_dir);
  if (name == "hot_key") return HotKey(settings);
  if (name == "sliding") return Sliding(settings);
  if (name == "sessions") return SessionsOfKeys(settings);
  if (name == "live_keys") return LiveKeys(settings);
  if (name == "recovery") return Recovery(settings, !second_half);
  if (name == "idle") return Idle(settings);
  std::fprintf(stderr, "engine_bench: no case '%s'; --help lists them\n", name.c_str());
  return 1;
}

}  // namespace
}  // namespace hornbeam::benchmarks

int main(int argc, char** argv) { return hornbeam::benchmarks::Main(argc, argv); }
