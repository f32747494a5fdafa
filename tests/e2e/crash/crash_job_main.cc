// The job of the crash tests, in a process of its own:
//   crash_job --state-dir DIR --subscription S --dataset D --pubsub HOST:PORT --bigquery HOST:PORT
//             --bigquery-grpc HOST:PORT [--mode exactly_once|at_least_once] [--ready-file F]
// Started again on the same state directory it goes on from there. SIGTERM drains it; the exit code
// is then 0. It ends with 1, having said why, when the job fails.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/file_system.h"
#include "crash_pipeline.h"
#include "engine/job/job.h"

namespace hornbeam::crash {
namespace {

struct Flags {
  CrashPipelineOptions pipeline;
  PipelineOptions job;
  std::string mode = "exactly_once";
  std::string ready_file;
};

bool Ended(engine::JobState state) {
  using enum engine::JobState;
  return state == kDone || state == kDrained || state == kCancelled || state == kFailed;
}

Status RunUntilDrained(const Flags& flags, const sigset_t& stop_signals) {
  Pipeline pipeline(flags.job);
  BuildCrashPipeline(flags.pipeline, &pipeline);
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
  HB_RETURN_IF_ERROR(job->Start());
  if (!flags.ready_file.empty()) {
    HB_RETURN_IF_ERROR(WriteFileAtomically(*FileSystem::Posix(), flags.ready_file, "running\n"));
  }
  const timespec poll{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!Ended(job->state())) {
    if (sigtimedwait(&stop_signals, nullptr, &poll) > 0) job->Drain();
  }
  return job->Wait();
}

int Main(int argc, char** argv) {
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);  // before any thread, so that all inherit it

  Flags flags;
  flags.job.name = "crash";
  CLI::App app("The job of the crash tests");
  app.add_option("--state-dir", flags.job.state_dir)->required();
  app.add_option("--subscription", flags.pipeline.subscription)->required();
  app.add_option("--dataset", flags.pipeline.dataset)->required();
  app.add_option("--pubsub", flags.pipeline.pubsub_endpoint)->required();
  app.add_option("--bigquery", flags.pipeline.bigquery_rest_endpoint)->required();
  app.add_option("--bigquery-grpc", flags.pipeline.bigquery_grpc_endpoint)->required();
  app.add_option("--mode", flags.mode)->check(CLI::IsMember({"exactly_once", "at_least_once"}));
  app.add_option("--workers", flags.job.workers);
  app.add_option("--ready-file", flags.ready_file);
  CLI11_PARSE(app, argc, argv);
  if (flags.mode == "at_least_once") flags.job.mode = ProcessingMode::kAtLeastOnce;

  const Status status = RunUntilDrained(flags, stop_signals);
  if (status.ok()) return 0;
  std::fprintf(stderr, "crash_job: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace hornbeam::crash

int main(int argc, char** argv) { return hornbeam::crash::Main(argc, argv); }
