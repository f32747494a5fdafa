// The soak test: an hour, or as long as it is told, of a job with everything in it that is killed and started again.
//   soak --seconds 3600 [--seed S] [--kill-every SECONDS] [--rate EVENTS_A_SECOND] [--workers N] [--folder DIR]
// Exit code 0: every window has exactly what was put in, and neither memory nor the state directory has grown beyond its bound.
// docs/exactly_once.md tells what is checked.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "soak_run.h"

namespace hornbeam::soak {
namespace {

int Report(const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "soak: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  SoakOptions soak;
  SoakJobOptions job;
  soak.seed = RandomSeed() % 1'000'000;
  bool child = false;
  bool keep = false;
  CLI::App app("A job with late data, sessions, timers, a side input and a slow sink, killed at random moments");
  app.add_option("--seconds", soak.seconds, "How long events come")->check(CLI::PositiveNumber);
  app.add_option("--seed", soak.seed, "Of events, kills and numbers of workers; at random without");
  app.add_option("--kill-every", soak.kill_every_s, "Mean seconds between kills outside of the calm; 0: never");
  app.add_option("--rate", soak.rate, "Events a second")->check(CLI::PositiveNumber);
  app.add_option("--workers", soak.workers, "Of every process; 0: one to four, at random");
  app.add_option("--folder", soak.folder, "A new one for state and output; otherwise one in the temporary folder");
  app.add_flag("--keep", keep, "Keep the folder also where nothing was wrong");
  app.add_option("--lose", soak.faults.lose_event, "Lose the event of this number, which the test must notice");
  app.add_option("--repeat", soak.faults.repeat_event, "Read the event of this number twice, which the test must notice");
  app.add_flag("--child", child)->group("");
  app.add_option("--state-dir", job.state_dir)->group("");
  app.add_option("--output", job.pipeline.output)->group("");
  app.add_option("--begun-us", job.pipeline.begun_us)->group("");
  app.add_option("--slow-sink-seed", job.pipeline.slow_sink_seed)->group("");
  CLI11_PARSE(app, argc, argv);

  if (child) {
    job.pipeline.plan = {soak.seed, soak.seconds * soak.rate, soak.rate};
    job.pipeline.faults = soak.faults;
    job.workers = soak.workers;
    return Report(RunSoakJob(job));
  }
  soak.program = std::filesystem::read_symlink("/proc/self/exe").string();
  if (soak.folder.empty()) soak.folder = absl::StrCat(std::filesystem::temp_directory_path().string(), "/hornbeam_soak_", RandomSeed());
  if (std::filesystem::exists(soak.folder)) {
    std::fprintf(stderr, "soak: the folder '%s' is there already; name a new one\n", soak.folder.c_str());
    return 1;
  }
  const int result = Report(RunSoak(soak));
  const bool as_told = soak.faults.lose_event >= 0 || soak.faults.repeat_event >= 0;
  if ((result == 0 || as_told) && !keep) std::filesystem::remove_all(soak.folder);
  return result;
}

}  // namespace
}  // namespace hornbeam::soak

int main(int argc, char** argv) { return hornbeam::soak::Main(argc, argv); }
