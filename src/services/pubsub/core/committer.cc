#include "services/pubsub/core/committer.h"

#include <utility>

namespace hornbeam::services::pubsub {

Committer::Committer(MessageIdSource* ids, const Clock* clock, AckFlusher* flusher)
    : ids_(ids), clock_(clock), flusher_(flusher), thread_([this] { Loop(); }) {}

Committer::~Committer() { Stop(); }

void Committer::Publish(const std::shared_ptr<Topic>& topic,
                        std::unique_ptr<PendingPublish> publish) {
  if (!topic->Enqueue(std::move(publish))) return;
  {
    MutexLock lock(&mutex_);
    if (!ended_) {
      queue_.push_back(topic);
      changed_.Signal();
      return;
    }
  }
  // The thread has gone in the middle of this call; the topic is closed, so this only refuses.
  while (Commit(topic)) {
  }
}

bool Committer::Commit(const std::shared_ptr<Topic>& topic) {
  const bool more = topic->Commit(ids_, *clock_);
  // Where nobody subscribes, or somebody has ceased to, no ack will see to it.
  if (topic->log()->segment_count() > 1) flusher_->Request(topic, false);
  return more;
}

void Committer::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void Committer::Loop() {
  while (true) {
    std::shared_ptr<Topic> topic;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (queue_.empty()) {
        ended_ = true;
        return;
      }
      topic = std::move(queue_.front());
      queue_.pop_front();
    }
    if (Commit(topic)) {
      MutexLock lock(&mutex_);
      queue_.push_back(std::move(topic));
    }
  }
}

}  // namespace hornbeam::services::pubsub
