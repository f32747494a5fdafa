// The thread that writes acknowledgements to disk, lazily: at most one flush of a subscription each
// 100 ms, so that one sync serves many acks, unless somebody waits for it.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_ACK_FLUSHER_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_ACK_FLUSHER_H_

#include <memory>
#include <set>
#include <thread>

#include "base/mutex.h"

namespace hornbeam::services::pubsub {

// Something with bytes that should reach the disk.
class Flushable {
 public:
  virtual ~Flushable() = default;
  // On the flusher's thread, or a late caller's; never twice at a time.
  virtual void Flush() = 0;
};

// Thread-safe.
class AckFlusher {
 public:
  AckFlusher();
  ~AckFlusher();

  // Flushes `what` soon: within the interval, or, when `urgent`, as soon as the thread is free.
  void Request(std::shared_ptr<Flushable> what, bool urgent);
  // Flushes what was requested and ends the thread. Idempotent. An urgent request that
  // comes later is flushed by its caller; another is ignored.
  void Stop();

 private:
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::set<std::shared_ptr<Flushable>> dirty_ ABSL_GUARDED_BY(mutex_);
  bool urgent_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Mutex late_mutex_;  // held around the flushes of late callers: one at a time
  std::thread thread_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_ACK_FLUSHER_H_
