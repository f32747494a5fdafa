// Runs Nexmark queries on events that are made as fast as they are taken, with exactly-once epochs on.
//
//   nexmark --events 10000000 [--query q5 --query q7 ...] [--workers 2] [--no-state]
//
// One JSON line a query: events per second, per second of CPU time (which is the rate of a core), and without what making the events
// costs, measured first ("generator"). Memory is the process's peak so far: run a query alone to see its own.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "benchmarks/engine/sequence_source.h"
#include "benchmarks/nexmark/nexmark_generator.h"
#include "benchmarks/nexmark/nexmark_queries.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"

namespace hornbeam::benchmarks {
namespace {

struct Used {
  double seconds = 0, cpu_s = 0;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Makes all events and does nothing with them, on one thread.
Used Generate(const NexmarkConfig& config, int64_t events) {
  const NexmarkGenerator generator(config);
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  size_t kinds = 0;
  for (int64_t n = 0; n < events; ++n) kinds += generator.Make(n).index();
  if (kinds == 0) std::fprintf(stderr, "nexmark: there are only bids\n");
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), CpuSeconds() - cpu};
}

Status RunQuery(const std::string& query, const NexmarkConfig& config, int64_t events, PipelineOptions options,
                const Used& generator) {
  if (!options.state_dir.empty()) std::filesystem::remove_all(options.state_dir);
  Pipeline pipeline(options);
  const SequenceOptions sequence{.elements = events, .per_second = config.events_per_second, .begin = config.begin};
  const auto source = Sequence<Event>(sequence, options.workers, [generator = NexmarkGenerator(config)](int64_t n) { return generator.Make(n); });
  if (!BuildNexmarkQuery(query, pipeline | "Events" >> source)) {
    return absl::InvalidArgumentError(absl::StrCat("no query '", query, "'; there are ", absl::StrJoin(NexmarkQueries(), ", ")));
  }
  const double cpu_before = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
  HB_RETURN_IF_ERROR(job->Run());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu = CpuSeconds() - cpu_before;
  const engine::JobSnapshot snapshot = job->Snapshot();
  int64_t results = 0;
  for (const engine::StepSnapshot& step : snapshot.steps) {
    if (step.name == "Results") results = step.elements_in;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto n = static_cast<double>(events);
  absl::PrintF("{\"query\":\"%s\",\"events\":%d,\"results\":%d,\"seconds\":%.3f,\"events_per_s\":%.0f,\"events_per_core_s\":%.0f,"
               "\"without_generator_per_core_s\":%.0f,\"peak_rss_mb\":%.0f,\"epochs\":%d,\"workers\":%d}\n",
               query, events, results, seconds, n / seconds, n / cpu, n / std::max(cpu - generator.cpu_s, 1e-9),
               static_cast<double>(usage.ru_maxrss) / 1024, snapshot.sealed_epoch, snapshot.workers);
  std::fflush(stdout);
  if (!options.state_dir.empty()) std::filesystem::remove_all(options.state_dir);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("Runs Nexmark queries on events that are made as fast as they are taken.");
  NexmarkConfig config;
  PipelineOptions options;
  options.name = "nexmark";
  options.workers = 2;
  options.state_dir = "nexmark.state";
  int64_t events = 10'000'000;
  std::vector<std::string> queries;
  bool no_state = false;
  app.add_option("--events", events, "How many events");
  app.add_option("--query", queries, "Which queries, in this order; all where none is named");
  app.add_option("--workers", options.workers, "Worker threads");
  app.add_option("--events-per-second", config.events_per_second, "Of event time");
  app.add_option("--state-dir", options.state_dir, "Where the job keeps its state; emptied");
  app.add_flag("--no-state", no_state, "Keep no state: what the epochs cost");
  CLI11_PARSE(app, argc, argv);
  if (no_state) options.state_dir.clear();
  if (queries.empty()) queries = NexmarkQueries();
  const Used generator = Generate(config, events);
  absl::PrintF("{\"query\":\"generator\",\"events\":%d,\"seconds\":%.3f,\"events_per_core_s\":%.0f}\n", events, generator.seconds,
               static_cast<double>(events) / generator.cpu_s);
  for (const std::string& query : queries) {
    if (const Status status = RunQuery(query, config, events, options, generator); !status.ok()) {
      std::fprintf(stderr, "nexmark: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace hornbeam::benchmarks

int main(int argc, char** argv) { return hornbeam::benchmarks::Main(argc, argv); }
