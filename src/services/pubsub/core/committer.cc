#include "services/pubsub/core/committer.h"

#include <utility>

namespace hornbeam::services::pubsub {

Committer::Committer(MessageIdSource* ids, const Clock* clock)
    : ids_(ids), clock_(clock), thread_([this] { Loop(); }) {}

Committer::~Committer() { Stop(); }

void Committer::Publish(const std::shared_ptr<Topic>& topic,
                        std::unique_ptr<PendingPublish> publish) {
  if (!topic->Enqueue(std::move(publish))) return;
  MutexLock lock(&mutex_);
  queue_.push_back(topic);
  changed_.Signal();
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
      if (queue_.empty()) return;
      topic = std::move(queue_.front());
      queue_.pop_front();
    }
    if (topic->Commit(ids_, *clock_)) {
      MutexLock lock(&mutex_);
      queue_.push_back(std::move(topic));
    }
  }
}

}  // namespace hornbeam::services::pubsub
