// hornbeam demo
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/demo/demo_run.h"
#include "cli/up/data_dir.h"

namespace hornbeam::cli {

void AddDemo(CLI::App* app, StopSignals* signals) {
  CLI::App* command = app->add_subcommand(
      "demo",
      "A year of New York's flights through Pub/Sub, a pipeline and BigQuery, in about a minute");
  auto options = std::make_shared<DemoOptions>();
  options->data_dir = absl::StrCat(DefaultDataDir(), "/demo");
  command
      ->add_option("--data-dir", options->data_dir,
                   "Where the demo keeps its data; emptied at the start")
      ->capture_default_str();
  command->add_flag("--keep-running", options->keep_running,
                    "Leave the services up afterwards, until Ctrl-C");
  command
      ->add_option("--rate", options->rate,
                   "Publish so many messages per second; 0: as fast as it goes")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, int64_t{10'000'000}));
  command
      ->add_option("--flights", options->flights, "Only the first so many of the 336,776; 0: all")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}));
  command->add_option("--ready-file", options->ready_file,
                      "As for `up`; written before the first message");
  command->callback([options, signals] { ExitOnError(DemoRun(*options, signals).Run(), "demo"); });
}

}  // namespace hornbeam::cli
