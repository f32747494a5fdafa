// A place from which running work can be stopped.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_CANCELLATION_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_CANCELLATION_H_

#include <atomic>
#include <functional>

#include "base/mutex.h"
#include "base/status.h"

namespace hornbeam::services::bigquery {

// Thread-safe.
class Cancellation {
 public:
  // From now on the work fails with `why`, or with what an earlier call said.
  void Cancel(Status why);
  // Stops once more what runs now, if it has been cancelled: DuckDB does not notice an interrupt
  // that comes before its statement has begun.
  void Repeat();

  bool cancelled() const { return cancelled_.load(); }
  // OK until it is cancelled.
  Status status() const;

  // While it lives, Cancel calls `stop`, which must be quick and not use this object. Scopes nest;
  // the innermost one is called. A null cancellation is never cancelled.
  class Scope {
   public:
    Scope(Cancellation* cancellation, std::function<void()> stop);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancellation* const cancellation_;
    std::function<void()> outer_;
  };

 private:
  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  Status why_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> stop_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_CANCELLATION_H_
