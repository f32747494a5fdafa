// Carries a job's durable state to another place: a snapshot, and a new job that begins with it.
//
// A snapshot is a directory with a copy of the job's log, its PIPELINE, and last the file SNAPSHOT, which says whose it is and
// makes it whole. docs/formats/job_log.md has the details.
#ifndef HORNBEAM_ENGINE_JOB_STATE_TRANSFER_H_
#define HORNBEAM_ENGINE_JOB_STATE_TRANSFER_H_

#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "engine/epoch/ids.h"

namespace hornbeam::engine {

// Copies the log and the manifest in `state_dir` to `snapshot_dir`, durably. No epoch is sealed meanwhile; notes may be
// appended, and are in the copy or not. ALREADY_EXISTS where there is anything in `snapshot_dir`.
Status SaveSnapshot(FileSystem& fs, const std::string& state_dir, const std::string& job, EpochId epoch,
                    const std::string& snapshot_dir);

// Makes `state_dir` that of a new job, `job`, with what the snapshot has: keyed state, positions of sources, answers not yet
// consumed. Sinks begin anew (streams and offsets belong to the job that made them), with those rows that were sealed and not
// delivered. Opens the snapshot's log, so nobody else may at the same time. Does nothing where `state_dir` has a manifest: the
// job has begun. A crash in the middle leaves nothing that counts.
Status RestoreSnapshot(FileSystem& fs, const std::string& snapshot_dir, const std::string& state_dir, const std::string& job);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_STATE_TRANSFER_H_
