#include "console/job_registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "console/job_state_json.h"

namespace hornbeam::console {
namespace {

constexpr size_t kMaxIdLength = 128;
constexpr absl::string_view kSuffix = ".json";

bool IsValidId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdLength && id.front() != '.' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

Status UnknownJob(std::string_view id) {
  return absl::NotFoundError(absl::StrCat("there is no job '",
                                          absl::string_view(id.data(), id.size()),
                                          "'; `hornbeam jobs list` shows those that are known"));
}

std::string FileContent(const engine::JobSnapshot& snapshot, int64_t updated_at_us) {
  nlohmann::json json = ToJson(snapshot);
  json["updated_at_us"] = updated_at_us;
  return JsonText(json) + "\n";
}

}  // namespace

StatusOr<std::unique_ptr<JobRegistry>> JobRegistry::Open(std::string directory, FileSystem* fs,
                                                         Clock* clock) {
  std::unique_ptr<JobRegistry> registry(new JobRegistry(std::move(directory), fs, clock));
  HB_RETURN_IF_ERROR(registry->Load());
  return registry;
}

Status JobRegistry::Load() {
  HB_RETURN_IF_ERROR(fs_->CreateDirectories(directory_));
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_->List(directory_));
  MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, kSuffix)) continue;
    const std::string id = name.substr(0, name.size() - kSuffix.size());
    if (!IsValidId(id)) continue;
    const std::string path = FileOf(id);
    HB_ASSIGN_OR_RETURN(const std::string content, ReadFile(*fs_, path));
    const nlohmann::json json = nlohmann::json::parse(content, nullptr, false);
    StatusOr<engine::JobSnapshot> snapshot = JobSnapshotFromJson(json);
    if (!snapshot.ok()) {
      return absl::DataLossError(
          absl::StrCat("file '", path, "' is damaged (", snapshot.status().message(),
                       "); it only records a past job: delete it and start again"));
    }
    Entry& entry = jobs_[id];
    entry.snapshot = *std::move(snapshot);
    entry.heard_monotonic_us = clock_->MonotonicMicros();
    const auto updated = json.find("updated_at_us");
    if (updated != json.end() && updated->is_number_integer())
      entry.updated_at_us = updated->get<int64_t>();
  }
  return absl::OkStatus();
}

StatusOr<JobCommands> JobRegistry::Report(std::string_view id, engine::JobSnapshot snapshot) {
  if (!IsValidId(id)) {
    return absl::InvalidArgumentError(
        "a job's id must be 1 to 128 letters, digits, '.', '_' or '-', and not begin with '.'");
  }
  if (snapshot.steps.size() > kMaxSteps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job '", absl::string_view(id.data(), id.size()), "' has ", snapshot.steps.size(),
        " steps; the console shows jobs of up to ", kMaxSteps, ", the job itself may run on"));
  }
  JobCommands commands;
  std::string content;  // empty: nothing to write
  std::vector<std::string> forgotten;
  {
    MutexLock lock(&mutex_);
    if (!jobs_.contains(id)) HB_RETURN_IF_ERROR(MakeRoom(&forgotten));
    const auto [it, is_new] = jobs_.try_emplace(std::string(id));
    Entry& entry = it->second;
    const bool changed = is_new || entry.snapshot.state != snapshot.state ||
                         entry.snapshot.started_at_us != snapshot.started_at_us;
    const bool finished = IsTerminal(snapshot.state);
    if (changed || !finished) entry.updated_at_us = clock_->NowMicros();
    entry.heard_monotonic_us = clock_->MonotonicMicros();
    entry.heard = true;
    if (finished || snapshot.state == engine::JobState::kDraining) entry.pending.drain = false;
    if (finished) entry.pending.cancel = false;
    entry.snapshot = std::move(snapshot);
    commands = entry.pending;
    if (changed || finished) content = FileContent(entry.snapshot, entry.updated_at_us);
    if (changed && finished) ForgetOldest(&forgotten);
  }
  for (const std::string& old : forgotten) {
    if (const std::string file = FileOf(old); fs_->Exists(file))
      HB_RETURN_IF_ERROR(fs_->Remove(file));
  }
  if (!content.empty()) HB_RETURN_IF_ERROR(WriteFileAtomically(*fs_, FileOf(id), content));
  return commands;
}

void JobRegistry::ForgetOldest(std::vector<std::string>* forgotten) {
  std::vector<std::pair<int64_t, std::string>> finished;
  for (const auto& [id, entry] : jobs_) {
    if (IsTerminal(entry.snapshot.state)) finished.emplace_back(entry.updated_at_us, id);
  }
  if (finished.size() <= kMaxFinished) return;
  std::sort(finished.begin(), finished.end());
  finished.resize(finished.size() - kMaxFinished);
  for (auto& [updated_at_us, id] : finished) {
    jobs_.erase(id);
    forgotten->push_back(std::move(id));
  }
}

Status JobRegistry::MakeRoom(std::vector<std::string>* forgotten) {
  size_t unfinished = 0;
  auto longest = jobs_.end();
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const auto job = it++;
    if (IsTerminal(job->second.snapshot.state)) continue;
    const int64_t silent_us = SilentMicros(job->second);
    if (silent_us >= kForgetMicros) {
      forgotten->push_back(job->first);
      jobs_.erase(job);
      continue;
    }
    ++unfinished;
    if (silent_us >= kLostMicros &&
        (longest == jobs_.end() || silent_us > SilentMicros(longest->second))) {
      longest = job;
    }
  }
  if (unfinished < kMaxUnfinished) return absl::OkStatus();
  if (longest == jobs_.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the console shows ", kMaxUnfinished,
                     " jobs that have not ended, which is the most it can; end some of them"));
  }
  forgotten->push_back(longest->first);
  jobs_.erase(longest);
  return absl::OkStatus();
}

int64_t JobRegistry::SilentMicros(const Entry& entry) const {
  return clock_->MonotonicMicros() - entry.heard_monotonic_us;
}

std::vector<KnownJob> JobRegistry::List() const {
  std::vector<KnownJob> jobs;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, entry] : jobs_) {
      const bool dropped =
          !IsTerminal(entry.snapshot.state) && SilentMicros(entry) >= kForgetMicros;
      if (!dropped) jobs.push_back(Describe(id, entry));
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const KnownJob& a, const KnownJob& b) {
    return a.snapshot.started_at_us > b.snapshot.started_at_us;
  });
  return jobs;
}

StatusOr<KnownJob> JobRegistry::Get(std::string_view id) const {
  MutexLock lock(&mutex_);
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return UnknownJob(id);
  return Describe(it->first, it->second);
}

KnownJob JobRegistry::Describe(const std::string& id, const Entry& entry) const {
  const bool finished = IsTerminal(entry.snapshot.state);
  const int64_t silent_us = SilentMicros(entry);
  return {.id = id,
          .snapshot = entry.snapshot,
          .updated_at_us = entry.updated_at_us,
          .responding = finished || (entry.heard && silent_us < kSilenceMicros),
          .lost = !finished && silent_us >= kLostMicros};
}

Status JobRegistry::Cancel(std::string_view id) { return Command(id, &JobCommands::cancel); }
Status JobRegistry::Drain(std::string_view id) { return Command(id, &JobCommands::drain); }

Status JobRegistry::Command(std::string_view id, bool JobCommands::*command) {
  MutexLock lock(&mutex_);
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return UnknownJob(id);
  if (IsTerminal(it->second.snapshot.state)) {
    return absl::FailedPreconditionError(absl::StrCat("job '", it->first, "' has already ended (",
                                                      engine::ToString(it->second.snapshot.state),
                                                      ")"));
  }
  it->second.pending.*command = true;
  return absl::OkStatus();
}

std::string JobRegistry::FileOf(std::string_view id) const {
  return absl::StrCat(directory_, "/", absl::string_view(id.data(), id.size()), kSuffix);
}

}  // namespace hornbeam::console
