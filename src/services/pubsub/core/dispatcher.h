// The thread that wakes consumers: streams and pulls that wait for messages, and whatever wants to
// run at a time.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_DISPATCHER_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_DISPATCHER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace hornbeam::services::pubsub {

// Something that looks at the world and does what there is to do; being woken for nothing is
// harmless.
class Consumer {
 public:
  virtual ~Consumer() = default;
  // On the dispatcher's thread.
  virtual void Run() = 0;
};

// Thread-safe; calls consumers without holding a lock.
class Dispatcher {
 public:
  // `clock` outlives the dispatcher. A clock that jumps (a suspended machine, a test's) is noticed
  // within 100 ms.
  explicit Dispatcher(const Clock* clock);
  ~Dispatcher();

  void Schedule(std::shared_ptr<Consumer> consumer);
  // When the clock's monotonic reading has reached `at_us`, if the consumer still lives.
  void ScheduleAt(int64_t at_us, std::weak_ptr<Consumer> consumer);

  // Runs what is scheduled for now, forgets what is for later, and ends the thread. Idempotent;
  // later calls of Schedule do nothing.
  void Stop();

 private:
  void Loop();

  const Clock* const clock_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<Consumer>> ready_ ABSL_GUARDED_BY(mutex_);
  std::multimap<int64_t, std::weak_ptr<Consumer>> timed_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_DISPATCHER_H_
