// The jobs that the console knows, each with its newest state. Jobs report themselves, twice a
// second or so, whether they run in this process or in another, and take their pending commands
// from the answer (job_reporter.h is the other side).
#ifndef HORNBEAM_CONSOLE_JOB_REGISTRY_H_
#define HORNBEAM_CONSOLE_JOB_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/job/job_snapshot.h"

namespace hornbeam::console {

// What someone asked of a job and the job has not yet been seen to do.
struct JobCommands {
  bool cancel = false;
  bool drain = false;
};

struct KnownJob {
  std::string id;
  engine::JobSnapshot snapshot;
  int64_t updated_at_us = 0;  // when it last reported; for a finished job, when it ended
  bool responding = true;     // false: it is not finished and has not reported for kSilence
  bool lost = false;          // it is not finished and has not reported for kLost
};

// Thread-safe. What is kept on disk, a file per job in `directory`, is written when a job's state
// (not merely its counts) changes and when it reports as finished, so that jobs stay listed over a
// restart. Of finished jobs the newest kMaxFinished are kept. A job that has not finished and is
// silent for kForget is dropped, and before that when room is needed for another: there are
// kMaxUnfinished at most. What was silent before a restart counts from the restart.
class JobRegistry {
 public:
  static constexpr int64_t kSilenceMicros = 5'000'000;
  static constexpr int64_t kLostMicros = 600'000'000;        // ten minutes
  static constexpr int64_t kForgetMicros = 604'800'000'000;  // a week
  static constexpr size_t kMaxFinished = 200;
  static constexpr size_t kMaxUnfinished = 200;
  static constexpr size_t kMaxSteps = 2000;

  // Reads what an earlier process left. DATA_LOSS names a file that cannot be read as a job's
  // state.
  static StatusOr<std::unique_ptr<JobRegistry>> Open(std::string directory, FileSystem* fs,
                                                     Clock* clock);

  // The newest state of job `id`, which becomes known by its first report. Ids are 1 to 128 of
  // [A-Za-z0-9._-] and do not begin with a dot. A failure to write the file is returned; the state
  // in memory is the new one all the same. INVALID_ARGUMENT for more than kMaxSteps steps;
  // RESOURCE_EXHAUSTED for a new job when kMaxUnfinished others are there and none is lost.
  StatusOr<JobCommands> Report(std::string_view id, engine::JobSnapshot snapshot);

  // Newest start first.
  std::vector<KnownJob> List() const;
  StatusOr<KnownJob> Get(std::string_view id) const;

  // Handed to the job with every answer until it is seen to obey. NOT_FOUND; FAILED_PRECONDITION
  // when it has finished.
  Status Cancel(std::string_view id);
  Status Drain(std::string_view id);

 private:
  struct Entry {
    engine::JobSnapshot snapshot;
    int64_t updated_at_us = 0;
    int64_t heard_monotonic_us = 0;  // when it last reported, or was read from disk
    bool heard = false;              // in this process's life
    JobCommands pending;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  JobRegistry(std::string directory, FileSystem* fs, Clock* clock)
      : directory_(std::move(directory)), fs_(fs), clock_(clock) {}

  Status Load();
  std::string FileOf(std::string_view id) const;
  KnownJob Describe(const std::string& id, const Entry& entry) const;
  Status Command(std::string_view id, bool JobCommands::*command);
  int64_t SilentMicros(const Entry& entry) const;
  // These add the ids that they drop to *forgotten.
  void ForgetOldest(std::vector<std::string>* forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status MakeRoom(std::vector<std::string>* forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string directory_;
  FileSystem* const fs_;
  Clock* const clock_;
  mutable Mutex mutex_;
  Entries jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_JOB_REGISTRY_H_
