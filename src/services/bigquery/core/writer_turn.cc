#include "services/bigquery/core/writer_turn.h"

namespace hornbeam::services::bigquery {

Status WriterTurn::Take(Cancellation* cancellation) {
  Cancellation::Scope scope(cancellation, [this] {
    MutexLock lock(&mutex_);
    changed_.SignalAll();
  });
  {
    MutexLock lock(&mutex_);
    const uint64_t mine = next_++;
    const auto place = queue_.insert(queue_.end(), mine);
    while (queue_.front() != mine && !(cancellation != nullptr && cancellation->cancelled()))
      changed_.Wait(&mutex_);
    if (queue_.front() == mine) return absl::OkStatus();
    queue_.erase(place);
  }
  return cancellation->status();
}

void WriterTurn::GiveBack() {
  MutexLock lock(&mutex_);
  queue_.pop_front();
  changed_.SignalAll();
}

}  // namespace hornbeam::services::bigquery
