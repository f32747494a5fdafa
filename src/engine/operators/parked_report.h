// What an operator has parked, for people: written by its worker, read by anyone.
#ifndef HORNBEAM_ENGINE_OPERATORS_PARKED_REPORT_H_
#define HORNBEAM_ENGINE_OPERATORS_PARKED_REPORT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "model/time.h"

namespace hornbeam::engine {

// Elements and timers on which user code failed and that wait to be tried again.
struct ParkedSnapshot {
  int64_t count = 0;
  int64_t oldest_since_us = 0;  // since when the oldest waits in this run, since the Unix epoch; 0: none does
  model::EventTime holds = model::EventTime::Max();  // the output watermark goes no further; Max(): is not held
  std::string error;                                 // the newest

  // Takes in what is parked on another worker.
  void Merge(const ParkedSnapshot& other) {
    if (other.count == 0) return;
    if (count == 0 || other.oldest_since_us < oldest_since_us) oldest_since_us = other.oldest_since_us;
    if (count == 0) error = other.error;
    count += other.count;
    holds = std::min(holds, other.holds);
  }
};

class ParkedReport {
 public:
  void Set(ParkedSnapshot snapshot) {
    MutexLock lock(&mutex_);
    snapshot_ = std::move(snapshot);
  }
  ParkedSnapshot Get() const {
    MutexLock lock(&mutex_);
    return snapshot_;
  }

 private:
  mutable Mutex mutex_;
  ParkedSnapshot snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PARKED_REPORT_H_
