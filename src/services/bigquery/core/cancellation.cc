#include "services/bigquery/core/cancellation.h"

#include <utility>

namespace hornbeam::services::bigquery {

void Cancellation::Cancel(Status why) {
  MutexLock lock(&mutex_);
  if (why_.ok()) why_ = std::move(why);
  cancelled_.store(true);
  if (stop_) stop_();
}

void Cancellation::Repeat() {
  MutexLock lock(&mutex_);
  if (cancelled_.load() && stop_) stop_();
}

Status Cancellation::status() const {
  MutexLock lock(&mutex_);
  return why_;
}

Cancellation::Scope::Scope(Cancellation* cancellation, std::function<void()> stop)
    : cancellation_(cancellation) {
  if (cancellation_ == nullptr) return;
  MutexLock lock(&cancellation_->mutex_);
  outer_ = std::exchange(cancellation_->stop_, std::move(stop));
}

Cancellation::Scope::~Scope() {
  if (cancellation_ == nullptr) return;
  MutexLock lock(&cancellation_->mutex_);
  cancellation_->stop_ = std::move(outer_);
}

}  // namespace hornbeam::services::bigquery
