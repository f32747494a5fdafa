// The hornbeam command.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/machine_memory.h"
#include "cli/commands/command.h"
#include "cli/stop_signals.h"

namespace {

constexpr char kDescription[] =
    "Hornbeam runs Pub/Sub -> Beam -> BigQuery streaming pipelines on a machine of your own.\n"
    "\n"
    "  hornbeam demo                                  a year of flights through all of it, in a "
    "minute\n"
    "  hornbeam up                                    start the services and the console\n"
    "  hornbeam publish --create greetings hello      publish a message\n"
    "  hornbeam query \"SELECT 1 AS one\"               query the tables\n"
    "  hornbeam jobs list                             what runs, and what ran";

int Run(int argc, char** argv) {
  hornbeam::cli::StopSignals signals;
  // gRPC writes to standard error by itself; what matters of it reaches the user as a Status.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);

  CLI::App app(kDescription, "hornbeam");
  app.set_version_flag("--version", "hornbeam " HORNBEAM_VERSION);
  app.require_subcommand(1);
  hornbeam::cli::AddDemo(&app, &signals);
  hornbeam::cli::AddUp(&app, &signals);
  hornbeam::cli::AddQuery(&app);
  hornbeam::cli::AddPublish(&app);
  hornbeam::cli::AddJobs(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // the command has said why
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // the help or the version
    std::fprintf(stderr, "%s\n",
                 hornbeam::cli::UsageError(app, error, {argv + 1, argv + argc}).c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  hornbeam::LimitOwnMemory();
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hornbeam: unexpected error: %s\n", error.what());
    return 1;
  }
}
