// hornbeam up
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "cli/commands/command.h"
#include "cli/stop_signals.h"
#include "cli/up/data_dir.h"
#include "cli/up/local_cloud.h"

namespace hornbeam::cli {
namespace {

struct UpFlags {
  LocalCloudOptions cloud{.data_dir = DefaultDataDir()};
  int storage_port = kStoragePort;
  int jobs_port = kJobsPort;
  std::string ready_file;
};

// As from a shell's variable that is not set.
CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& value) { return value.empty() ? std::string("is empty") : std::string(); },
      "");
}

void Announce(const LocalCloud& cloud) {
  const Endpoints& at = cloud.endpoints();
  const std::string where =
      cloud.data_dir() == DefaultDataDir() ? "" : absl::StrCat(" --data-dir ", cloud.data_dir());
  std::printf(
      "Hornbeam is up.\n\n"
      "  Pub/Sub         %s    PUBSUB_EMULATOR_HOST=%s\n"
      "  BigQuery        %s    BIGQUERY_EMULATOR_HOST=http://%s\n"
      "  BigQuery gRPC   %s    Storage Write API\n"
      "  Console         http://%s\n"
      "  Data            %s\n\n"
      "Not in this version: Cloud Storage and the Beam Job API (--storage-port and --jobs-port "
      "change nothing yet).\n"
      "Try: hornbeam query%s \"SELECT 1 AS one\"      Stop with Ctrl-C.\n",
      at.pubsub.c_str(), at.pubsub.c_str(), at.bigquery.c_str(), at.bigquery.c_str(),
      at.bigquery_grpc.c_str(), at.console.c_str(), cloud.data_dir().c_str(), where.c_str());
  std::fflush(stdout);
}

void RunUp(const UpFlags& flags, StopSignals* signals) {
  StatusOr<std::unique_ptr<LocalCloud>> cloud = LocalCloud::Start(flags.cloud);
  ExitOnError(cloud.status(), "up");
  if (!flags.ready_file.empty()) {
    const Status written =
        WriteFileAtomically(*FileSystem::Posix(), flags.ready_file, ToJson((*cloud)->endpoints()));
    if (!written.ok()) {
      ExitOnError(Status(written.code(),
                         absl::StrCat("the ready file cannot be written: ", written.message(),
                                      "; name another with --ready-file")),
                  "up");
    }
  }
  Announce(**cloud);
  signals->Wait();
  std::printf("\nStopping.\n");
  std::fflush(stdout);
  (*cloud)->Stop();
}

}  // namespace

void AddUp(CLI::App* app, StopSignals* signals) {
  CLI::App* command =
      app->add_subcommand("up", "Start the local Pub/Sub, BigQuery and console; runs until Ctrl-C");
  auto flags = std::make_shared<UpFlags>();
  command
      ->add_option("--data-dir", flags->cloud.data_dir,
                   "Where everything is kept; made when missing")
      ->capture_default_str()
      ->check(NotEmpty());
  const auto port = [&](const char* name, int* value, const char* help) {
    command->add_option(name, *value, help)->capture_default_str()->check(CLI::Range(0, 65535));
  };
  port("--pubsub-port", &flags->cloud.pubsub_port,
       "Pub/Sub, gRPC; 0 picks a free port, here and below");
  port("--bigquery-port", &flags->cloud.bigquery_port, "BigQuery, REST");
  port("--bigquery-grpc-port", &flags->cloud.bigquery_grpc_port,
       "BigQuery Storage Write API, gRPC");
  port("--storage-port", &flags->storage_port, "Cloud Storage; accepted, but not in this version");
  port("--jobs-port", &flags->jobs_port, "Beam Job API; accepted, but not in this version");
  port("--console-port", &flags->cloud.console_port, "The console's page, its API and /metrics");
  command
      ->add_option("--ready-file", flags->ready_file,
                   "Written when all services answer: JSON with their addresses as host:port "
                   "(null: not in this version)")
      ->check(NotEmpty());
  command->callback([flags, signals] { RunUp(*flags, signals); });
}

}  // namespace hornbeam::cli
