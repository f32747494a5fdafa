// Takes finished epochs and decisions from many threads and makes them durable on one.
#ifndef HORNBEAM_ENGINE_EPOCH_COMMITTER_H_
#define HORNBEAM_ENGINE_EPOCH_COMMITTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/epoch/epoch_records.h"
#include "engine/epoch/ids.h"
#include "engine/epoch/job_log.h"

namespace hornbeam::engine {

// One epoch, flushed by everybody who takes part in it.
struct EpochParts {
  EpochId epoch = 0;
  std::vector<EpochRecords> parts;
};

struct CommitterOptions {
  // Submit blocks while so many epochs wait or are being sealed.
  size_t max_queued = 1;
  // False: no thread; epochs are sealed by CommitNow, notes by the caller of AppendNote. For
  // deterministic tests.
  bool threaded = true;
};

// Thread-safe, except Stop and destruction. Owns the log's writing side: while it lives nobody else
// calls Seal, AppendNote or Sync. In synchronous mode callers take care that CommitNow and
// AppendNote do not overlap.
class Committer {
 public:
  // Called once for every submitted epoch, in their order, with its id once it is durable or with
  // why it is not; after a failure every later epoch gets that failure too. On the committer's
  // thread (or in CommitNow), without locks. It may call anything here but AppendNote, Stop, and a
  // Submit that would have to wait.
  using OnSealed = std::function<void(StatusOr<EpochId>)>;

  // `log` is recovered and outlives the committer.
  Committer(JobLog* log, OnSealed on_sealed, CommitterOptions options = {});
  // Stops.
  ~Committer();

  // Hands an epoch over; waits while the queue is full (not in synchronous mode). After Stop it is
  // dropped.
  void Submit(EpochParts epoch);

  // JobLog::AppendNote; durable on return where `sync` is set. Notes of several threads, and an
  // epoch that is there at that moment, share one sync. CANCELLED after Stop: then the note has not
  // been written.
  Status AppendNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload,
                    bool sync = true);

  // Epochs that wait or are being sealed.
  size_t queued() const;

  // Synchronous mode: seals all queued epochs.
  void CommitNow();

  // Commits what is queued, then ends the thread. Does not close the log.
  void Stop();

 private:
  // Lives on the stack of its waiting caller.
  struct PendingNote {
    OperatorId op;
    uint32_t unit;
    bool replaces;
    std::string_view payload;
    bool sync = true;
    bool done = false;
    Status status = absl::OkStatus();
  };

  void Run();
  void Commit(const std::vector<PendingNote*>& notes, const std::optional<EpochParts>& epoch);
  StatusOr<EpochId> Seal(const EpochParts& epoch);
  void Report(StatusOr<EpochId> sealed);

  JobLog* const log_;
  const OnSealed on_sealed_;
  const CommitterOptions options_;

  mutable Mutex mutex_;
  CondVar work_;      // something to commit, or stopping
  CondVar progress_;  // room in the queue, or notes done
  std::deque<EpochParts> epochs_ ABSL_GUARDED_BY(mutex_);
  size_t sealing_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<PendingNote*> notes_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last, so that it starts when all else is there
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_COMMITTER_H_
