// Who may write next: writers take turns, in the order in which they came.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_WRITER_TURN_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_WRITER_TURN_H_

#include <cstdint>
#include <list>

#include "base/mutex.h"
#include "base/status.h"
#include "services/bigquery/core/cancellation.h"

namespace hornbeam::services::bigquery {

// Thread-safe. A lock that is fair, and that a waiting writer who is cancelled gives up.
class WriterTurn {
 public:
  // Waits for the turn. The cancellation's status when that comes first; it may be null.
  Status Take(Cancellation* cancellation);
  // Gives it to the next. REQUIRES: taken.
  void GiveBack();

 private:
  Mutex mutex_;
  CondVar changed_;
  // Those that have or want the turn, by number; the first one has it.
  std::list<uint64_t> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_WRITER_TURN_H_
