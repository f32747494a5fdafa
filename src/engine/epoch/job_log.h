// The durable log of one job: what makes an epoch true. Format: docs/formats/job_log.md.
#ifndef HORNBEAM_ENGINE_EPOCH_JOB_LOG_H_
#define HORNBEAM_ENGINE_EPOCH_JOB_LOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "base/status.h"
#include "engine/epoch/epoch_records.h"
#include "engine/epoch/ids.h"
#include "engine/epoch/live_index.h"
#include "engine/epoch/replay_filter.h"
#include "engine/epoch/segment_writer.h"

namespace hornbeam::engine {

struct JobLogOptions {
  // Whose log it is, up to 1,000 bytes; opening another job's log is an error.
  std::string job_id;
  // A segment that has reached this is followed by another one.
  uint64_t segment_bytes = 32 << 20;
  // Below this, or below twice what rewriting is known to leave (LiveIndex::compact_bytes), the log asks for no rewriting.
  uint64_t rewrite_above_bytes = 256 << 20;
  // Parts of an epoch are split into frames of about this size: what a reader holds in memory.
  uint64_t frame_bytes = 64 << 20;
  // For the salts of segments.
  uint64_t seed = RandomSeed();
};

// Receives the state of a job at recovery. Payloads are valid during the call. An error ends the
// replay and is returned.
class ReplayVisitor {
 public:
  virtual ~ReplayVisitor() = default;
  virtual Status OnRecord(EpochId epoch, OperatorId op, uint32_t unit, bool replaces,
                          std::string_view payload) = 0;
  virtual Status OnNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload) = 0;
};

// Thread-compatible, except that what is marked "any thread" may be called while one other thread
// does the rest.
//
// Invariant: what Recover replays is the state of a sealed epoch: the last one whose Seal returned
// OK, or a later one whose Seal had begun. After an error of Seal, AppendNote or Sync the log is
// unusable and says so (a failed fsync is fatal): end the process and open again.
class JobLog {
 public:
  // Creates the log in `dir`, or reads and verifies all of it. FAILED_PRECONDITION when another
  // process runs the job or the log is another job's; DATA_LOSS, naming file and offset, for
  // damage; UNIMPLEMENTED for a newer format. `fs` outlives the log.
  static StatusOr<std::unique_ptr<JobLog>> Open(FileSystem* fs, std::string dir,
                                                JobLogOptions options);
  // Ends without a last write, as a crash would; see Close.
  ~JobLog() = default;
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;

  // Replays every record of every sealed epoch and every note that is not void (replaced or ended;
  // RetainFrom marks are not kept in the log), each unit's records in log order and each unit's
  // notes in log order. FAILED_PRECONDITION once something has been written.
  Status Recover(ReplayVisitor* visitor);

  // Makes the epoch true: all records, the seal, one sync. Epochs grow; gaps are allowed.
  // INVALID_ARGUMENT for one that does not, and the status of a part that is not OK: then nothing
  // has been written and the log goes on.
  Status Seal(EpochId epoch, std::span<const EpochRecords* const> parts);

  // A decision that must be on disk before it is acted on, outside any epoch. Durable on return
  // when `sync` is set, otherwise with the next Sync or Seal; in any case never lost while
  // something written later is kept. `replaces`: all earlier notes of that unit are void; with an
  // empty payload it has none. Live notes stay in memory: keep them small.
  Status AppendNote(OperatorId op, uint32_t unit, bool replaces, std::string_view payload,
                    bool sync);
  Status Sync();

  // An orderly end: everything synced and marked so. Nothing but destruction may follow.
  Status Close();

  // Any thread: 0 before the first.
  EpochId last_sealed() const;

  // Any thread. What a sink has delivered: its records of epochs before `epoch` are void. Marks
  // only grow, and are given again after recovery.
  void RetainFrom(OperatorId op, EpochId epoch);

  // Any thread. Units to write again, as records that replace, in the next epoch, so that old
  // segments go and the log stays near max(rewrite_above_bytes, twice the state at its last
  // rewriting): those that the oldest segments wait for, up to `budget_bytes` of their records (but
  // one at least). Empty
  // while the log is small enough. Units of operators with a RetainFrom mark are never asked for.
  std::vector<UnitKey> UnitsToRewrite(size_t budget_bytes) const;

  // Any thread: of all segments; of what is not void.
  uint64_t size_bytes() const;
  uint64_t live_bytes() const;

  // What Open cut off: an epoch that was being written, and torn bytes.
  uint64_t discarded_tail_bytes() const { return discarded_tail_bytes_; }

 private:
  class Indexer;

  JobLog(FileSystem* fs, std::string dir, JobLogOptions options)
      : fs_(fs), dir_(std::move(dir)), options_(std::move(options)), rng_(options_.seed) {}

  std::string PathOf(uint64_t segment) const;
  StatusOr<std::vector<uint64_t>> ListSegments() const;
  StatusOr<bool> RemoveUnusedSegment(uint64_t segment);
  Status OpenSegments(const std::vector<uint64_t>& segments);
  Status CheckOwner(const SegmentHeader& header, uint64_t segment) const;
  Status StartSegment(uint64_t segment);
  Status RollWhenFull();
  Status CarryNotes();
  Status WriteEpoch(EpochId epoch, std::span<const EpochRecords* const> parts);
  Status WritePart(EpochId epoch, const EpochRecords& part, SealBody* seal);
  Status WriteNotes(const NotesBody& notes);
  Status RemoveUnneeded();
  Status Usable() const;
  Status Failed(const Status& error, absl::string_view doing);
  bool WantsRewriting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t SizeLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FileSystem* const fs_;
  const std::string dir_;
  const JobLogOptions options_;
  Rng rng_;
  std::unique_ptr<FileLock> lock_;
  Status failure_;
  bool written_ = false;
  uint64_t discarded_tail_bytes_ = 0;

  std::unique_ptr<SegmentWriter> writer_;  // of segment_
  uint64_t segment_ = 0;
  uint64_t next_note_ = 1;
  uint64_t first_needed_segment_ = 1;       // as the newest seal has it
  std::vector<RecordSummary> summaries_;    // of the epoch being written; kept for its memory
  ReplayFilter live_records_, live_notes_;  // for Recover

  mutable Mutex mutex_;
  EpochId last_sealed_ ABSL_GUARDED_BY(mutex_) = 0;
  LiveIndex index_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> segment_sizes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_JOB_LOG_H_
