// Tells live records and notes from void ones while the job log is replayed.
#ifndef HORNBEAM_ENGINE_EPOCH_REPLAY_FILTER_H_
#define HORNBEAM_ENGINE_EPOCH_REPLAY_FILTER_H_

#include "absl/container/flat_hash_map.h"
#include "engine/epoch/ids.h"
#include "engine/epoch/segment_scan.h"

namespace hornbeam::engine {

// Where each unit's live part starts. Told of everything in log order first, asked afterwards. One
// for records, another for notes. Not thread-safe.
class ReplayFilter {
 public:
  // What is at `position` replaces all before it; when it `ends` the unit, it is void itself.
  void Replace(UnitKey key, LogPosition position, bool ends) {
    if (ends) ++position.offset;
    live_from_[key] = position;
  }
  bool IsLive(UnitKey key, LogPosition position) const {
    const auto found = live_from_.find(key);
    return found == live_from_.end() || position >= found->second;
  }
  void Clear() { live_from_ = {}; }

 private:
  absl::flat_hash_map<UnitKey, LogPosition> live_from_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_REPLAY_FILTER_H_
