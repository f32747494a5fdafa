// How far each worker's event time had come at its newest marker: what all of them are past by then may go from the log.
#ifndef HORNBEAM_ENGINE_OPERATORS_MARKER_TIMES_H_
#define HORNBEAM_ENGINE_OPERATORS_MARKER_TIMES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "model/key_hash.h"
#include "model/time.h"

namespace hornbeam::engine {

// Shared by the workers of a job; each publishes its own, at its markers alone. What another has published belongs to this epoch's
// marker or to an earlier one, so the least is never ahead of anyone's at this one.
class MarkerTimes {
 public:
  MarkerTimes() {
    for (std::atomic<int64_t>& time : times_) time.store(model::EventTime::Max().us, std::memory_order_relaxed);
  }

  void Publish(int worker, model::EventTime t) { At(worker).store(t.us, std::memory_order_release); }
  model::EventTime Least() const {
    int64_t least = model::EventTime::Max().us;
    for (const std::atomic<int64_t>& time : times_) least = std::min(least, time.load(std::memory_order_acquire));
    return {least};
  }

 private:
  std::atomic<int64_t>& At(int worker) { return times_[static_cast<size_t>(worker) % times_.size()]; }

  std::array<std::atomic<int64_t>, model::kKeySlices> times_;  // more workers than key slices have nothing to do
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_MARKER_TIMES_H_
