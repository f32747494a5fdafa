// Puts a thread to sleep until another has something for it. A wake-up that comes before the sleep is not lost.
#ifndef HORNBEAM_ENGINE_WORKER_PARKER_H_
#define HORNBEAM_ENGINE_WORKER_PARKER_H_

#include <atomic>
#include <chrono>

#include "base/mutex.h"

namespace hornbeam::engine {

// Park by one thread, Unpark by any. What a thread did before its Unpark is seen by the other after the Park that this ends: all
// changes of notified_ are read-modify-writes, so that none is overlooked in a store buffer.
class Parker {
 public:
  void Park(std::chrono::microseconds at_most) {
    if (notified_.exchange(false, std::memory_order_seq_cst)) return;
    MutexLock lock(&mutex_);
    if (!notified_.load(std::memory_order_seq_cst)) {
      parked_ = true;
      condition_.WaitFor(&mutex_, at_most);
      parked_ = false;
    }
    notified_.exchange(false, std::memory_order_seq_cst);
  }

  void Unpark() {
    if (notified_.exchange(true, std::memory_order_seq_cst)) return;
    MutexLock lock(&mutex_);
    if (parked_) condition_.Signal();
  }

 private:
  std::atomic<bool> notified_{false};
  Mutex mutex_;
  CondVar condition_;
  bool parked_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_WORKER_PARKER_H_
