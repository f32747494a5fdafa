#include "services/bigquery/core/jobs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/bigquery/core/errors.h"

namespace hornbeam::services::bigquery {
namespace {

using std::chrono::steady_clock;

constexpr size_t kMaxJobs = 2000;
// Of all results kept.
constexpr int64_t kMaxKeptBytes = int64_t{1} << 30;
// BigQuery's own, for every query.
constexpr std::chrono::hours kMostTime{6};
// Between one interrupt of a cancelled job and the next.
constexpr std::chrono::milliseconds kInsist{50};

int64_t BytesOf(const JobSnapshot& job) { return job.outcome.rows ? job.outcome.rows->bytes : 0; }

Status TimedOut(const JobSnapshot& job) {
  if (job.timeout_ms > 0) {
    return WithReason(
        absl::DeadlineExceededError(absl::StrCat(
            "Job execution was cancelled: Job timed out after ", job.timeout_ms, " ms.")),
        "timeout");
  }
  return WithReason(
      absl::DeadlineExceededError(
          "Operation timed out after 6.0 hours. Consider reducing the amount of work performed by "
          "your operation so that it can complete within this limit."),
      "timeout");
}

Status UserCancelled() {
  return absl::CancelledError("Job execution was cancelled: User requested cancellation");
}

}  // namespace

struct Jobs::Job {
  JobSnapshot snapshot;  // guarded by the owner's mutex
  Cancellation cancellation;
  steady_clock::time_point deadline;
};

Jobs::Jobs(const QueryEngine* engine, Clock* clock, const Limits& limits)
    : engine_(engine), clock_(clock), limits_(limits), rng_(RandomSeed()), watch_thread_([this] {
        Watch();
      }) {}

StatusOr<JobSnapshot> Jobs::Insert(std::string project, std::string id,
                                   nlohmann::json configuration, QueryRequest request,
                                   std::chrono::milliseconds timeout) {
  auto job = std::make_shared<Job>();
  MutexLock lock(&mutex_);
  if (stopping_) return absl::UnavailableError("the BigQuery service is stopping");
  if (id.empty()) id = absl::StrFormat("job_%016x%016x", rng_.Next(), rng_.Next());
  if (jobs_.contains({project, id})) {
    return absl::AlreadyExistsError("Already Exists: Job " + project + ":US." + id);
  }
  if (queue_.size() >= limits_.pending) {
    return absl::ResourceExhaustedError(
        "Quota exceeded: Your project exceeded quota for max number of jobs that can be queued per "
        "project.");
  }
  job->snapshot.project = project;
  job->snapshot.id = id;
  job->snapshot.configuration = std::move(configuration);
  job->snapshot.request = std::move(request);
  job->snapshot.created_ms = clock_->NowMicros() / 1000;
  job->snapshot.timeout_ms = timeout.count();
  const std::chrono::milliseconds most = kMostTime;
  job->deadline = steady_clock::now() + (timeout.count() > 0 ? std::min(timeout, most) : most);
  jobs_[{project, id}] = job;
  order_.push_back(job);
  queue_.push_back(job);
  DropOldest();
  if (idle_ < queue_.size() && threads_.size() < limits_.running) {
    threads_.emplace_back([this] { Work(); });
  }
  work_.Signal();
  watch_.Signal();
  return job->snapshot;
}

void Jobs::DropOldest() {
  for (auto it = order_.begin(); it != order_.end() && order_.size() > 1;) {
    if (order_.size() <= kMaxJobs && kept_bytes_ <= kMaxKeptBytes) return;
    const std::shared_ptr<Job> job = *it;
    const bool is_newest = job == order_.back();
    if (job->snapshot.state != JobState::kDone || is_newest) {
      ++it;
      continue;
    }
    kept_bytes_ -= BytesOf(job->snapshot);
    jobs_.erase({job->snapshot.project, job->snapshot.id});
    it = order_.erase(it);
  }
}

void Jobs::Work() {
  for (;;) {
    std::shared_ptr<Job> job;
    QueryRequest request;
    {
      MutexLock lock(&mutex_);
      ++idle_;
      while (queue_.empty() && !stopping_) work_.Wait(&mutex_);
      --idle_;
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
    kept_bytes_ += BytesOf(job->snapshot);
    ++finished_;
    DropOldest();
    done_.SignalAll();
  }
}

steady_clock::time_point Jobs::EndOverdue() {
  const auto now = steady_clock::now();
  auto next = now + kMostTime;
  for (const auto& [key, job] : jobs_) {
    if (job->snapshot.state == JobState::kDone) continue;
    if (job->deadline <= now && !job->cancellation.cancelled())
      job->cancellation.Cancel(TimedOut(job->snapshot));
    const bool insist = job->cancellation.cancelled();
    if (insist) job->cancellation.Repeat();
    next = std::min(next, insist ? now + kInsist : job->deadline);
  }
  return next;
}

void Jobs::Watch() {
  MutexLock lock(&mutex_);
  while (!stopping_ || !AllDone()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(EndOverdue() - steady_clock::now());
    watch_.WaitFor(&mutex_, std::max(left, std::chrono::microseconds(1000)));
  }
}

bool Jobs::AllDone() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& entry) {
    return entry.second->snapshot.state == JobState::kDone;
  });
}

StatusOr<JobSnapshot> Jobs::Wait(const std::string& project, const std::string& id,
                                 std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(&mutex_);
  const auto it = jobs_.find({project, id});
  if (it == jobs_.end()) return JobNotFound(project, id);
  const std::shared_ptr<Job> job = it->second;
  if (waiters_ >= limits_.waiters) return job->snapshot;
  ++waiters_;
  while (job->snapshot.state != JobState::kDone) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    done_.WaitFor(&mutex_, left);
  }
  --waiters_;
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
  MutexLock lock(&mutex_);
  const auto it = jobs_.find({project, id});
  if (it == jobs_.end()) return JobNotFound(project, id);
  it->second->cancellation.Cancel(UserCancelled());
  watch_.Signal();
  return absl::OkStatus();
}

Status Jobs::Delete(const std::string& project, const std::string& id) {
  MutexLock lock(&mutex_);
  const auto it = jobs_.find({project, id});
  if (it == jobs_.end()) return JobNotFound(project, id);
  if (it->second->snapshot.state != JobState::kDone)
    return Invalid("A job that runs cannot be deleted.");
  kept_bytes_ -= BytesOf(it->second->snapshot);
  std::erase(order_, it->second);
  jobs_.erase(it);
  return absl::OkStatus();
}

void Jobs::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    for (auto& [key, job] : jobs_) {
      if (job->snapshot.state != JobState::kDone)
        job->cancellation.Cancel(absl::UnavailableError("the BigQuery service is stopping"));
    }
    work_.SignalAll();
    watch_.SignalAll();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  {
    MutexLock lock(&mutex_);
    watch_.SignalAll();
  }
  if (watch_thread_.joinable()) watch_thread_.join();
}

int64_t Jobs::finished() const {
  MutexLock lock(&mutex_);
  return finished_;
}

}  // namespace hornbeam::services::bigquery
