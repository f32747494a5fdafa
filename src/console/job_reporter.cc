#include "console/job_reporter.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/http_client.h"
#include "base/log.h"
#include "console/job_state_json.h"
#include "engine/job/job.h"

namespace hornbeam::console {
namespace {

constexpr std::chrono::milliseconds kInterval{500};
constexpr int kTimeoutSeconds = 5;
constexpr size_t kMaxNameInId = 100;

StatusOr<JobCommands> Post(const HttpClient& console, const std::string& id,
                           const engine::JobSnapshot& snapshot) {
  HB_ASSIGN_OR_RETURN(const HttpClient::Reply reply,
                      console.PostJson(absl::StrCat("/api/v1/jobs/", id, "/state"),
                                       JsonText(ToJson(snapshot)), kTimeoutSeconds));
  if (reply.status != 200) {
    return absl::UnavailableError(absl::StrCat("the console at ", console.endpoint(),
                                               " refused a report with HTTP ", reply.status, ": ",
                                               reply.body));
  }
  const nlohmann::json answer = nlohmann::json::parse(reply.body, nullptr, false);
  const auto has = [&](const char* name) {
    const auto it = answer.find(name);
    return it != answer.end() && it->is_boolean() && it->get<bool>();
  };
  if (!answer.is_object()) {
    return absl::UnavailableError(
        absl::StrCat("what answers at ", console.endpoint(), " is no console of Hornbeam"));
  }
  return JobCommands{.cancel = has("cancel"), .drain = has("drain")};
}

}  // namespace

ReportedJob Reported(engine::Job* job) {
  return {.snapshot = [job] { return job->Snapshot(); },
          .cancel = [job] { job->Cancel(); },
          .drain = [job] { job->Drain(); }};
}

ReportSink ReportTo(JobRegistry* registry) {
  return [registry](const std::string& id, engine::JobSnapshot snapshot) {
    return registry->Report(id, std::move(snapshot));
  };
}

ReportSink ReportTo(std::string console_endpoint) {
  auto console = std::make_shared<const HttpClient>(std::move(console_endpoint));
  return [console](const std::string& id, engine::JobSnapshot snapshot) {
    return Post(*console, id, snapshot);
  };
}

std::string NewJobId(std::string_view name, Clock* clock, Rng* rng) {
  std::string id(name.substr(0, kMaxNameInId));
  for (char& c : id) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '-';
  }
  if (id.empty()) id = "job";
  const std::string time = absl::FormatTime(
      "%Y%m%d-%H%M%S", absl::FromUnixMicros(clock->NowMicros()), absl::UTCTimeZone());
  return absl::StrFormat("%s-%s-%04x", id, time, rng->Below(0x10000));
}

JobReporter::JobReporter(std::string id, ReportedJob job, ReportSink sink)
    : id_(std::move(id)),
      job_(std::move(job)),
      sink_(std::move(sink)),
      thread_([this] { Loop(); }) {}

JobReporter::~JobReporter() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    wake_.SignalAll();
  }
  thread_.join();
  ReportOnce();
}

void JobReporter::Loop() {
  for (;;) {
    ReportOnce();
    MutexLock lock(&mutex_);
    const auto until = std::chrono::steady_clock::now() + kInterval;
    while (!stopping_) {
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          until - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      wake_.WaitFor(&mutex_, left);
    }
    if (stopping_) return;
  }
}

void JobReporter::ReportOnce() {
  const StatusOr<JobCommands> commands = sink_(id_, job_.snapshot());
  if (!commands.ok()) {
    if (!complained_) {
      LogWarning(
          absl::StrCat("job ", id_, " runs on, but is not shown: ", commands.status().message()));
    }
    complained_ = true;
    return;
  }
  complained_ = false;
  if (commands->cancel) {
    job_.cancel();
  } else if (commands->drain) {
    job_.drain();
  }
}

}  // namespace hornbeam::console
