#include "soak_run.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/file_system.h"
#include "base/rng.h"
#include "engine/job/job.h"
#include "job_process.h"
#include "kill_schedule.h"
#include "resource_use.h"
#include "verdict.h"

namespace hornbeam::soak {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The job's log is small enough for a short soak to see it compacted, many times in a long one.
constexpr uint64_t kLogRewriteAboveBytes = 16 << 20;
constexpr uint64_t kLogSegmentBytes = 2 << 20;
// Of the state directory: while a slow sink keeps old segments, the log may be larger than it aims at.
constexpr int64_t kMostStateBytes = 48 << 20;
// From the last event on: windows close, rows leave, and the job ends.
constexpr double kEndSeconds = 120;
// A shorter soak has no calm in which the job's memory could be seen to grow.
constexpr int64_t kSecondsToSeeGrowth = 150;
constexpr double kSampleSeconds = 1;
constexpr double kSaySeconds = 30;

class SoakRun {
 public:
  explicit SoakRun(const SoakOptions& options)
      : options_(options),
        plan_{options.seed, options.seconds * options.rate, options.rate},
        rng_(options.seed * 31 + 7),
        kills_(KillMoments(static_cast<double>(options.seconds), options.kill_every_s, options.seed)) {}

  Status Run() {
    HB_RETURN_IF_ERROR(FileSystem::Posix()->CreateDirectories(options_.folder));
    absl::PrintF("soak: %d s, %d events a second, %d kills, seed %d, in %s\n", options_.seconds, options_.rate, kills_.size(),
                 options_.seed, options_.folder);
    HB_RETURN_IF_ERROR(StartJob());
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (const std::optional<int> code = job_.Ended()) {
        if (*code == 0) break;
        return absl::InternalError(absl::StrCat("the job ended by itself with code ", *code, " after ", Elapsed(), " s"));
      }
      if (Elapsed() > static_cast<double>(options_.seconds) + kEndSeconds) {
        return absl::DeadlineExceededError(absl::StrCat("the job has not ended ", kEndSeconds, " s after its last event"));
      }
      if (next_kill_ < kills_.size() && Elapsed() >= kills_[next_kill_]) HB_RETURN_IF_ERROR(KillAndStart());
      Sample();
    }
    Say("the job has ended");
    return Judge();
  }

 private:
  double Elapsed() const { return std::chrono::duration<double>(SteadyClock::now() - begun_).count(); }

  std::string StateDir() const { return options_.folder + "/state"; }
  std::string Output() const { return options_.folder + "/rows"; }

  Status StartJob() {
    workers_ = options_.workers > 0 ? options_.workers : 1 + static_cast<int64_t>(rng_.Below(4));
    started_ = SteadyClock::now();
    return job_.Start({options_.program, "--child", "--state-dir", StateDir(), "--output", Output(), "--seconds",
                       absl::StrCat(options_.seconds), "--rate", absl::StrCat(options_.rate), "--seed", absl::StrCat(options_.seed),
                       "--workers", absl::StrCat(workers_), "--begun-us", absl::StrCat(begun_us_), "--slow-sink-seed",
                       absl::StrCat(rng_.Next() | 1), "--lose", absl::StrCat(options_.faults.lose_event), "--repeat",
                       absl::StrCat(options_.faults.repeat_event)});
  }

  Status KillAndStart() {
    ++next_kill_;
    job_.Kill();
    return StartJob();
  }

  void Sample() {
    if (Elapsed() < next_sample_s_) return;
    next_sample_s_ = Elapsed() + kSampleSeconds;
    const StatusOr<int64_t> rss = RssOf(job_.pid());
    if (!rss.ok()) return;  // it has just ended
    samples_.push_back({Elapsed(), std::chrono::duration<double>(SteadyClock::now() - started_).count(), *rss, BytesIn(StateDir())});
    if (Elapsed() < next_said_s_) return;
    next_said_s_ = Elapsed() + kSaySeconds;
    Say(absl::StrFormat("%d kills, %d workers, rss %.1f MB, state %.1f MB, rows %.1f MB", next_kill_, workers_,
                        static_cast<double>(*rss) / 1e6, static_cast<double>(samples_.back().state_bytes) / 1e6,
                        static_cast<double>(BytesOf(Output())) / 1e6));
  }
  static int64_t BytesOf(const std::string& file) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(file, missing);
    return missing ? 0 : static_cast<int64_t>(size);
  }

  void Say(const std::string& text) const {
    absl::PrintF("%7.1f s  %s\n", Elapsed(), text);
    std::fflush(stdout);
  }

  Status Judge() {
    HB_ASSIGN_OR_RETURN(const std::string rows, ReadFile(*FileSystem::Posix(), Output()));
    const Expectation expectation(plan_);
    Verdict verdict = soak::Judge(expectation, rows);
    ResourceBounds bounds;
    bounds.state_bytes = kMostStateBytes;
    bounds.judge_growth = options_.seconds >= kSecondsToSeeGrowth;
    const ResourceVerdict resources = JudgeResources(samples_, bounds);
    absl::PrintF("events: %d in time, %d late, %d too late; %d kills; %d rows; %d windows exact, %d wrong\n", expectation.in_time(),
                 expectation.late(), expectation.too_late(), next_kill_, verdict.rows, verdict.windows, verdict.wrong);
    absl::PrintF("memory: at most %.1f MB; in the longest life, %.0f s: %.1f MB in its first half, %.1f MB in its second%s\n",
                 static_cast<double>(resources.most_rss_bytes) / 1e6, resources.longest_life_s,
                 static_cast<double>(resources.early_rss_bytes) / 1e6, static_cast<double>(resources.late_rss_bytes) / 1e6,
                 bounds.judge_growth ? "" : " (too short to say whether it grows)");
    absl::PrintF("state directory: at most %.1f MB\n", static_cast<double>(resources.most_state_bytes) / 1e6);
    std::vector<std::string> problems = std::move(verdict.problems);
    problems.insert(problems.end(), resources.problems.begin(), resources.problems.end());
    for (const std::string& problem : problems) absl::PrintF("WRONG: %s\n", problem);
    if (problems.empty()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the soak test has failed; seed ", options_.seed, ", folder ", options_.folder));
  }

  const SoakOptions options_;
  const SoakPlan plan_;
  Rng rng_;
  const std::vector<double> kills_;
  const SteadyClock::time_point begun_ = SteadyClock::now();
  const int64_t begun_us_ = Clock::System()->NowMicros();
  JobProcess job_;
  SteadyClock::time_point started_;
  int64_t workers_ = 0;
  size_t next_kill_ = 0;
  std::vector<ResourceSample> samples_;
  double next_sample_s_ = 0, next_said_s_ = 0;
};

}  // namespace

Status RunSoak(const SoakOptions& options) { return SoakRun(options).Run(); }

Status RunSoakJob(const SoakJobOptions& options) {
  PipelineOptions job;
  job.name = "soak";
  job.state_dir = options.state_dir;
  job.workers = static_cast<int>(options.workers);
  job.epoch_interval = Millis(50);  // each is a delivery to a sink that is slow
  job.log_rewrite_above_bytes = kLogRewriteAboveBytes;
  job.log_segment_bytes = kLogSegmentBytes;
  Pipeline pipeline(job);
  BuildSoakPipeline(options.pipeline, &pipeline);
  return pipeline.Run();
}

}  // namespace hornbeam::soak
