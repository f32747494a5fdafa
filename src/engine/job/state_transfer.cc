#include "engine/job/state_transfer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/epoch/job_log.h"
#include "engine/job/pipeline_manifest.h"
#include "engine/plan/plan.h"
#include "engine/sink/sink_delivery.h"
#include "nlohmann/json.hpp"

namespace hornbeam::engine {
namespace {

constexpr size_t kCopyBytes = 4 << 20;
// An epoch of the restored log has about so much.
constexpr size_t kEpochBytes = 32 << 20;

StatusOr<std::vector<std::string>> LogFiles(FileSystem& fs, const std::string& dir) {
  HB_ASSIGN_OR_RETURN(std::vector<std::string> names, fs.List(dir));
  std::erase_if(names, [](const std::string& name) { return !absl::EndsWith(name, ".log"); });
  std::sort(names.begin(), names.end());
  return names;
}

// The file as it is now; it may go on growing.
Status CopyFile(FileSystem& fs, const std::string& from, const std::string& to) {
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> source, fs.OpenForRead(from));
  HB_ASSIGN_OR_RETURN(const uint64_t size, source->Size());
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> copy, fs.Create(to));
  std::string bytes;
  for (uint64_t at = 0; at < size; at += bytes.size()) {
    HB_RETURN_IF_ERROR(source->Read(at, static_cast<size_t>(std::min<uint64_t>(kCopyBytes, size - at)), &bytes));
    if (bytes.empty()) return absl::DataLossError(absl::StrCat("'", from, "' became shorter while it was copied"));
    HB_RETURN_IF_ERROR(copy->Append(bytes));
  }
  HB_RETURN_IF_ERROR(copy->Sync());
  return copy->Close();
}

// Whose snapshot it is.
StatusOr<std::string> JobOf(FileSystem& fs, const std::string& snapshot_dir) {
  const std::string path = absl::StrCat(snapshot_dir, "/SNAPSHOT");
  if (!fs.Exists(path)) {
    return absl::NotFoundError(absl::StrCat("'", snapshot_dir, "' holds no snapshot of a job, or one that was not finished"));
  }
  HB_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, path));
  const nlohmann::json whole = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!whole.is_object() || !whole.contains("job") || !whole["job"].is_string()) {
    return absl::DataLossError(absl::StrCat("'", path, "' is damaged: it does not say whose snapshot it is"));
  }
  return whole["job"].get<std::string>();
}

// Writes what a log replays into another one.
class Transcript final : public ReplayVisitor {
 public:
  Transcript(JobLog* to, const PipelineManifest& manifest) : to_(to) {
    for (const StepManifest& step : manifest.steps) {
      if (step.is_sink) sinks_.insert(OperatorIdOf(step.state_name));
    }
  }

  Status OnRecord(EpochId, OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    part_.Add(op, unit, replaces, payload);
    return part_.size_bytes() < kEpochBytes ? absl::OkStatus() : SealPart();
  }
  // What is not a sink's says how the job ended, which the new one has not.
  Status OnNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) override {
    if (!sinks_.contains(op)) return absl::OkStatus();
    HB_ASSIGN_OR_RETURN(const std::string note, SinkDelivery::NoteOfNewJob(payload));
    return to_->AppendNote(op, unit, replaces, note, /*sync=*/false);
  }

  Status SealPart() {
    const EpochRecords* const part = &part_;
    HB_RETURN_IF_ERROR(to_->Seal(++epoch_, {&part, 1}));
    part_.Clear();
    return absl::OkStatus();
  }

 private:
  JobLog* const to_;
  std::set<OperatorId> sinks_;
  EpochRecords part_;
  EpochId epoch_ = 0;
};

StatusOr<std::unique_ptr<JobLog>> OpenLog(FileSystem& fs, const std::string& dir, const std::string& job) {
  JobLogOptions options;
  options.job_id = job;
  return JobLog::Open(&fs, dir, std::move(options));
}

}  // namespace

Status SaveSnapshot(FileSystem& fs, const std::string& state_dir, const std::string& job, EpochId epoch,
                    const std::string& snapshot_dir) {
  HB_RETURN_IF_ERROR(fs.CreateDirectories(snapshot_dir));
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> there, fs.List(snapshot_dir));
  if (!there.empty()) {
    return absl::AlreadyExistsError(absl::StrCat("'", snapshot_dir, "' is not empty; save the snapshot to a new directory"));
  }
  HB_ASSIGN_OR_RETURN(std::vector<std::string> files, LogFiles(fs, state_dir));
  files.push_back("PIPELINE");
  for (const std::string& file : files) {
    HB_RETURN_IF_ERROR(CopyFile(fs, absl::StrCat(state_dir, "/", file), absl::StrCat(snapshot_dir, "/", file)));
  }
  HB_RETURN_IF_ERROR(fs.SyncDirectory(snapshot_dir));
  const nlohmann::json mark = {{"version", 1}, {"job", job}, {"epoch", epoch}};
  return WriteFileAtomically(fs, absl::StrCat(snapshot_dir, "/SNAPSHOT"),
                             mark.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Status RestoreSnapshot(FileSystem& fs, const std::string& snapshot_dir, const std::string& state_dir, const std::string& job) {
  HB_RETURN_IF_ERROR(fs.CreateDirectories(state_dir));
  HB_ASSIGN_OR_RETURN(const std::optional<PipelineManifest> begun, ReadManifest(fs, state_dir));
  if (begun) return absl::OkStatus();
  HB_ASSIGN_OR_RETURN(const std::string saved_job, JobOf(fs, snapshot_dir));
  HB_ASSIGN_OR_RETURN(const std::optional<PipelineManifest> manifest, ReadManifest(fs, snapshot_dir));
  if (!manifest) return absl::DataLossError(absl::StrCat("the snapshot in '", snapshot_dir, "' has lost its file PIPELINE"));
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> leftovers, LogFiles(fs, state_dir));
  for (const std::string& file : leftovers) HB_RETURN_IF_ERROR(fs.Remove(absl::StrCat(state_dir, "/", file)));

  HB_ASSIGN_OR_RETURN(const std::unique_ptr<JobLog> from, OpenLog(fs, snapshot_dir, saved_job));
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<JobLog> to, OpenLog(fs, state_dir, job));
  Transcript transcript(to.get(), *manifest);
  HB_RETURN_IF_ERROR(from->Recover(&transcript));
  HB_RETURN_IF_ERROR(transcript.SealPart());
  HB_RETURN_IF_ERROR(to->Close());
  return WriteManifest(fs, state_dir, *manifest);
}

}  // namespace hornbeam::engine
