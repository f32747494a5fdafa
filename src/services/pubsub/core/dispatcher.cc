#include "services/pubsub/core/dispatcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hornbeam::services::pubsub {
namespace {

constexpr int64_t kMaxWaitUs = 100'000;

}  // namespace

Dispatcher::Dispatcher(const Clock* clock) : clock_(clock), thread_([this] { Loop(); }) {}

Dispatcher::~Dispatcher() { Stop(); }

void Dispatcher::Schedule(std::shared_ptr<Consumer> consumer) {
  MutexLock lock(&mutex_);
  if (stopping_) return;
  ready_.push_back(std::move(consumer));
  changed_.Signal();
}

void Dispatcher::ScheduleAt(int64_t at_us, std::weak_ptr<Consumer> consumer) {
  MutexLock lock(&mutex_);
  if (stopping_) return;
  const bool is_first = timed_.empty() || at_us < timed_.begin()->first;
  timed_.emplace(at_us, std::move(consumer));
  if (is_first) changed_.Signal();
}

void Dispatcher::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::Loop() {
  while (true) {
    std::deque<std::shared_ptr<Consumer>> ready;
    {
      MutexLock lock(&mutex_);
      while (ready_.empty()) {
        if (stopping_) return;
        const int64_t now_us = clock_->MonotonicMicros();
        while (!timed_.empty() && timed_.begin()->first <= now_us) {
          if (std::shared_ptr<Consumer> consumer = timed_.begin()->second.lock())
            ready_.push_back(std::move(consumer));
          timed_.erase(timed_.begin());
        }
        if (!ready_.empty()) break;
        if (timed_.empty()) {
          changed_.Wait(&mutex_);
        } else {
          const int64_t wait_us = std::min(timed_.begin()->first - now_us, kMaxWaitUs);
          changed_.WaitFor(&mutex_, std::chrono::microseconds(wait_us));
        }
      }
      ready.swap(ready_);
    }
    for (const std::shared_ptr<Consumer>& consumer : ready) consumer->Run();
  }
}

}  // namespace hornbeam::services::pubsub
