// Keeps the readers of the soak test's job together: none is further than the clock, nor than a bound from what is sealed of the
// others. Behind that bound it is certain, and not only likely, which watermark the whole job has passed.
#ifndef HORNBEAM_TESTS_SOAK_PACE_H_
#define HORNBEAM_TESTS_SOAK_PACE_H_

#include <algorithm>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/epoch/ids.h"
#include "hornbeam/types.h"

namespace hornbeam::soak {

// Thread-safe. Outlives the readers, which are numbered from 0. A reader's progress is when the first element is due that it has
// not yet read.
class Pace {
 public:
  // What is due at time 0 may be read when `clock` says `begun_us`. Without a clock everything may be read at once, as far as the
  // others let it.
  Pace(int readers, Duration apart, const Clock* clock, int64_t begun_us)
      : apart_(apart), clock_(clock), begun_us_(begun_us), readers_(static_cast<size_t>(readers)) {}

  bool has_clock() const { return clock_ != nullptr; }

  // The reader goes on from what an earlier run has sealed.
  void Begin(int reader, EventTime sealed) {
    MutexLock lock(&mutex_);
    At(reader).sealed = sealed;
  }
  // What is due up to here may be read.
  EventTime Limit() const {
    EventTime limit = clock_ == nullptr ? EventTime::Max() : EventTime::FromMicros(clock_->NowMicros() - begun_us_);
    MutexLock lock(&mutex_);
    for (const Progress& progress : readers_) limit = std::min(limit, progress.sealed + apart_);
    return limit;
  }
  // The epoch ends with the reader there; and it is sealed, with all before it.
  void NoteMarker(int reader, engine::EpochId epoch, EventTime due) {
    MutexLock lock(&mutex_);
    At(reader).sealing[epoch] = due;
  }
  void NoteSealed(int reader, engine::EpochId epoch) {
    MutexLock lock(&mutex_);
    Progress& progress = At(reader);
    const auto end = progress.sealing.upper_bound(epoch);
    if (end == progress.sealing.begin()) return;
    progress.sealed = std::prev(end)->second;
    progress.sealing.erase(progress.sealing.begin(), end);
  }

 private:
  struct Progress {
    EventTime sealed = EventTime::Min();
    std::map<engine::EpochId, EventTime> sealing;
  };
  Progress& At(int reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return readers_[static_cast<size_t>(reader)]; }

  const Duration apart_;
  const Clock* const clock_;
  const int64_t begun_us_;
  mutable Mutex mutex_;
  std::vector<Progress> readers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_PACE_H_
