#include "services/pubsub/core/ack_flusher.h"

#include <chrono>
#include <utility>

#include "services/pubsub/core/limits.h"

namespace hornbeam::services::pubsub {

AckFlusher::AckFlusher() : thread_([this] { Loop(); }) {}

AckFlusher::~AckFlusher() { Stop(); }

void AckFlusher::Request(std::shared_ptr<Flushable> what, bool urgent) {
  {
    MutexLock lock(&mutex_);
    if (stopping_ && !urgent) return;  // nobody waits, and what is lost is a redelivery
    if (!ended_) {
      const bool was_idle = dirty_.empty();
      dirty_.insert(std::move(what));
      if (was_idle || (urgent && !urgent_)) changed_.Signal();
      urgent_ = urgent_ || urgent;
      return;
    }
  }
  MutexLock lock(&late_mutex_);
  what->Flush();
}

void AckFlusher::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void AckFlusher::Loop() {
  while (true) {
    std::set<std::shared_ptr<Flushable>> dirty;
    {
      MutexLock lock(&mutex_);
      while (dirty_.empty() && !stopping_) changed_.Wait(&mutex_);
      const auto due =
          std::chrono::steady_clock::now() + std::chrono::microseconds(kAckFlushIntervalUs);
      while (!urgent_ && !stopping_) {
        const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
            due - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        changed_.WaitFor(&mutex_, left);
      }
      if (dirty_.empty()) {
        ended_ = true;
        return;
      }
      dirty.swap(dirty_);
      urgent_ = false;
    }
    for (const std::shared_ptr<Flushable>& what : dirty) what->Flush();
  }
}

}  // namespace hornbeam::services::pubsub
