#include "services/bigquery/core/jobs.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kMaxJobs = 2000;
// Of all results kept; about a gigabyte at 16 bytes a cell.
constexpr int64_t kMaxCells = int64_t{1} << 26;

int64_t CellsOf(const JobSnapshot& job) {
  if (!job.outcome.rows) return 0;
  return job.outcome.rows->total_rows *
         static_cast<int64_t>(job.outcome.rows->schema.fields.size());
}

}  // namespace

struct Jobs::Job {
  JobSnapshot snapshot;  // guarded by the owner's mutex
  Cancellation cancellation;
};

Jobs::Jobs(const QueryEngine* engine, Clock* clock)
    : engine_(engine), clock_(clock), rng_(RandomSeed()) {
  for (size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Work(); });
}

StatusOr<JobSnapshot> Jobs::Insert(std::string project, std::string id,
                                   nlohmann::json configuration, QueryRequest request) {
  auto job = std::make_shared<Job>();
  MutexLock lock(&mutex_);
  if (stopping_) return absl::UnavailableError("the BigQuery service is stopping");
  if (id.empty()) id = absl::StrFormat("job_%016x%016x", rng_.Next(), rng_.Next());
  if (jobs_.contains({project, id})) {
    return absl::AlreadyExistsError("Already Exists: Job " + project + ":US." + id);
  }
  job->snapshot.project = project;
  job->snapshot.id = id;
  job->snapshot.configuration = std::move(configuration);
  job->snapshot.request = std::move(request);
  job->snapshot.created_ms = clock_->NowMicros() / 1000;
  jobs_[{project, id}] = job;
  order_.push_back(job);
  queue_.push_back(job);
  DropOldest();
  work_.Signal();
  return job->snapshot;
}

void Jobs::DropOldest() {
  while (order_.size() > 1 && (order_.size() > kMaxJobs || kept_cells_ > kMaxCells)) {
    const JobSnapshot& oldest = order_.front()->snapshot;
    if (oldest.state != JobState::kDone) return;
    kept_cells_ -= CellsOf(oldest);
    const auto it = jobs_.find({oldest.project, oldest.id});
    if (it != jobs_.end() && it->second == order_.front()) jobs_.erase(it);
    order_.pop_front();
  }
}

void Jobs::Work() {
  for (;;) {
    std::shared_ptr<Job> job;
    QueryRequest request;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !stopping_) work_.Wait(&mutex_);
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      job->snapshot.state = JobState::kRunning;
      job->snapshot.started_ms = clock_->NowMicros() / 1000;
      request = job->snapshot.request;
    }
    auto outcome = engine_->Run(request, &job->cancellation);
    MutexLock lock(&mutex_);
    job->snapshot.state = JobState::kDone;
    job->snapshot.ended_ms = clock_->NowMicros() / 1000;
    job->snapshot.status = outcome.status();
    if (outcome.ok()) job->snapshot.outcome = *std::move(outcome);
    kept_cells_ += CellsOf(job->snapshot);
    ++finished_;
    DropOldest();
    done_.SignalAll();
  }
}

StatusOr<JobSnapshot> Jobs::Wait(const std::string& project, const std::string& id,
                                 std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(&mutex_);
  const auto it = jobs_.find({project, id});
  if (it == jobs_.end()) return JobNotFound(project, id);
  const std::shared_ptr<Job> job = it->second;
  while (job->snapshot.state != JobState::kDone) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    done_.WaitFor(&mutex_, left);
  }
  return job->snapshot;
}

StatusOr<JobSnapshot> Jobs::Get(const std::string& project, const std::string& id) const {
  MutexLock lock(&mutex_);
  const auto it = jobs_.find({project, id});
  if (it == jobs_.end()) return JobNotFound(project, id);
  return it->second->snapshot;
}

std::vector<JobSnapshot> Jobs::List(const std::string& project) const {
  MutexLock lock(&mutex_);
  std::vector<JobSnapshot> found;
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    if ((*it)->snapshot.project == project) found.push_back((*it)->snapshot);
  }
  return found;
}

Status Jobs::Cancel(const std::string& project, const std::string& id) {
  std::shared_ptr<Job> job;
  {
    MutexLock lock(&mutex_);
    const auto it = jobs_.find({project, id});
    if (it == jobs_.end()) return JobNotFound(project, id);
    job = it->second;
  }
  job->cancellation.Cancel();
  return absl::OkStatus();
}

Status Jobs::Delete(const std::string& project, const std::string& id) {
  MutexLock lock(&mutex_);
  const auto it = jobs_.find({project, id});
  if (it == jobs_.end()) return JobNotFound(project, id);
  if (it->second->snapshot.state != JobState::kDone)
    return Invalid("A job that runs cannot be deleted.");
  kept_cells_ -= CellsOf(it->second->snapshot);
  std::erase(order_, it->second);
  jobs_.erase(it);
  return absl::OkStatus();
}

void Jobs::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    for (auto& [key, job] : jobs_) {
      if (job->snapshot.state != JobState::kDone) job->cancellation.Cancel();
    }
    work_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

int64_t Jobs::finished() const {
  MutexLock lock(&mutex_);
  return finished_;
}

}  // namespace hornbeam::services::bigquery
