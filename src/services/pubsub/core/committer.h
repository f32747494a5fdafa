// The thread that makes publishes durable. While it waits for one sync, the next publishes gather:
// group commit.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_COMMITTER_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_COMMITTER_H_

#include <deque>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "services/pubsub/core/topic.h"

namespace hornbeam::services::pubsub {

// Thread-safe. Topics take turns.
class Committer {
 public:
  // All outlive the committer. The flusher is asked to delete segments that nobody needs.
  Committer(MessageIdSource* ids, const Clock* clock, AckFlusher* flusher);
  ~Committer();

  // Queues the publish on its topic and sees to it that it is written.
  void Publish(const std::shared_ptr<Topic>& topic, std::unique_ptr<PendingPublish> publish);
  // Answers what is queued and ends the thread. Idempotent. REQUIRES: topics are closed; a publish
  // that comes later is refused at once.
  void Stop();

 private:
  void Loop();
  // True when the topic has more.
  bool Commit(const std::shared_ptr<Topic>& topic);

  MessageIdSource* const ids_;
  const Clock* const clock_;
  AckFlusher* const flusher_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<Topic>> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_COMMITTER_H_
