// Query jobs: each runs on a thread, and is kept with its rows until newer ones push it out.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_JOBS_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_JOBS_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "base/status.h"
#include "services/bigquery/core/query_engine.h"

namespace hornbeam::services::bigquery {

enum class JobState { kPending, kRunning, kDone };

// What is known of a job at one moment.
struct JobSnapshot {
  std::string project;
  std::string id;
  nlohmann::json configuration;  // as it was inserted
  QueryRequest request;
  JobState state = JobState::kPending;
  Status status;           // when done
  QueryOutcome outcome;    // when done and OK
  int64_t timeout_ms = 0;  // as asked for; 0: the usual
  int64_t created_ms = 0;
  int64_t started_ms = 0;
  int64_t ended_ms = 0;
};

// Thread-safe. As many jobs run at once as BigQuery runs, so that a few long ones do not keep the
// short ones waiting: DuckDB shares its workers between them. A thread is made when a job comes and
// none is idle. Another one, the watch, ends jobs whose time is over.
class Jobs {
 public:
  struct Limits {
    size_t running = 100;
    size_t pending = 1000;
    // Further callers of Wait get what there is at once, so that those who come to cancel find a
    // thread of the server.
    int waiters = 128;
  };
  Jobs(const QueryEngine* engine, Clock* clock, const Limits& limits);
  ~Jobs() { Stop(); }

  // Starts a job. An empty `id` gets one. ALREADY_EXISTS when the project has one of this id,
  // RESOURCE_EXHAUSTED when Limits::pending wait for their turn.
  // It fails with the reason "timeout" when it is not done `timeout` (0: six hours) after that.
  StatusOr<JobSnapshot> Insert(std::string project, std::string id, nlohmann::json configuration,
                               QueryRequest request, std::chrono::milliseconds timeout);
  // Waits until it is done or `timeout` has passed.
  StatusOr<JobSnapshot> Wait(const std::string& project, const std::string& id,
                             std::chrono::milliseconds timeout);
  StatusOr<JobSnapshot> Get(const std::string& project, const std::string& id) const;
  // The newest first.
  std::vector<JobSnapshot> List(const std::string& project) const;
  Status Cancel(const std::string& project, const std::string& id);
  Status Delete(const std::string& project, const std::string& id);

  // Cancels what runs and ends the threads; those who wait get the outcome. Idempotent; one thread.
  void Stop();
  int64_t finished() const;

 private:
  struct Job;
  void Work();
  void Watch();
  // Cancels the jobs whose time is over. Returns when to look again.
  std::chrono::steady_clock::time_point EndOverdue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllDone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const QueryEngine* const engine_;
  Clock* const clock_;
  const Limits limits_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar done_;
  CondVar watch_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> order_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::deque<std::shared_ptr<Job>> queue_ ABSL_GUARDED_BY(mutex_);
  Rng rng_ ABSL_GUARDED_BY(mutex_);
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiters_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread watch_thread_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_JOBS_H_
