// Query jobs: they run on threads of their own and are kept, with their rows, until newer ones push
// them out.
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
  Status status;         // when done
  QueryOutcome outcome;  // when done and OK
  int64_t created_ms = 0;
  int64_t started_ms = 0;
  int64_t ended_ms = 0;
};

// Thread-safe.
class Jobs {
 public:
  Jobs(const QueryEngine* engine, Clock* clock);
  ~Jobs() { Stop(); }

  // Starts a job. An empty `id` gets one. ALREADY_EXISTS when the project has one of this id.
  StatusOr<JobSnapshot> Insert(std::string project, std::string id, nlohmann::json configuration,
                               QueryRequest request);
  // Waits until it is done or `timeout` has passed.
  StatusOr<JobSnapshot> Wait(const std::string& project, const std::string& id,
                             std::chrono::milliseconds timeout);
  StatusOr<JobSnapshot> Get(const std::string& project, const std::string& id) const;
  // The newest first.
  std::vector<JobSnapshot> List(const std::string& project) const;
  Status Cancel(const std::string& project, const std::string& id);
  Status Delete(const std::string& project, const std::string& id);

  // Cancels what runs and ends the threads. Idempotent.
  void Stop();
  int64_t finished() const;

 private:
  struct Job;
  void Work();
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const QueryEngine* const engine_;
  Clock* const clock_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar done_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> order_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::deque<std::shared_ptr<Job>> queue_ ABSL_GUARDED_BY(mutex_);
  Rng rng_ ABSL_GUARDED_BY(mutex_);
  int64_t kept_cells_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_JOBS_H_
