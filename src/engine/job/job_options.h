// How a job is run; everything here may differ from one run of the same job to the next.
#ifndef HORNBEAM_ENGINE_JOB_JOB_OPTIONS_H_
#define HORNBEAM_ENGINE_JOB_JOB_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/status.h"
#include "engine/job/commit_point.h"
#include "model/time.h"

namespace hornbeam::engine {

class ColdStore;

// kExactlyOnce: every effect of an element becomes durable once, with its epoch. kAtLeastOnce: sinks are written at once and
// sources acknowledged after the sink's confirmation; faster to the sink, and a crash repeats what was under way.
enum class ProcessingMode { kExactlyOnce, kAtLeastOnce };

// How a changed pipeline takes over the state of the job that ran under its name. Steps of the same name keep their state without
// being named here. The name of a composite stands for all the steps in it.
struct UpdateOptions {
  std::map<std::string, std::string> renamed;  // from the old name of a step to the new one
  std::set<std::string> drop_state_of;         // old names of steps whose state goes
};

struct JobOptions {
  std::string name = "job";
  // Where the job's durable log lives. Empty: the job keeps nothing, and a crash starts it anew.
  std::string state_dir;
  UpdateOptions update{};
  // A directory that Job::SaveSnapshot wrote: where the state directory is new, the job begins with what is there. Afterwards it
  // is not looked at again.
  std::string restore_from{};
  FileSystem* fs = FileSystem::Posix();
  Clock* clock = Clock::System();
  ProcessingMode mode = ProcessingMode::kExactlyOnce;

  int workers = 0;             // 0: one per core
  size_t batch_size = 1024;    // elements a source or an exchange puts in one batch, at most
  // The least time between the starts of two epochs; the next starts no earlier than the last is durable.
  model::Duration epoch_interval = model::Millis(20);
  // Bytes that sinks may hold sealed but undelivered, and ParDos parked, before sources wait.
  size_t undelivered_limit_bytes = 256 << 20;

  // The job's log is kept near the greater of this and twice what of it is alive, in segments of about `log_segment_bytes`.
  uint64_t log_rewrite_above_bytes = 256 << 20;
  uint64_t log_segment_bytes = 32 << 20;

  // What the state of groupings and stateful ParDos may take in memory, about: beyond it, what has been left alone longest goes to
  // disk, below `state_dir`, and comes back when it is needed. 0: half of what the machine, or its control group, has. Without a
  // state directory all state stays in memory.
  size_t state_memory_bytes = 0;
  // Where a worker's state goes then; for tests. Empty: RocksDB (engine/state/cold_store.h).
  std::function<StatusOr<std::unique_ptr<ColdStore>>(int worker)> new_cold_store{};

  // Failed elements are tried again this many times before they count as failed.
  int attempts = 3;

  // Groupings are made although their trigger may lose data or never fire (WindowingStrategy::ValidateForGrouping).
  bool allow_unsafe_triggers = false;

  // Called at every commit point, on whichever thread comes to it: for tests that crash there.
  std::function<void(CommitPoint)> on_commit_point{};

  // 0: workers run on threads of their own. Otherwise everything runs on the calling thread, interleaved by this seed.
  uint64_t deterministic_seed = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_JOB_OPTIONS_H_
