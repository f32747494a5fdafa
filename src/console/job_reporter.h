// Tells a console about a job of this process, twice a second, and does to the job what the
// console's users ask.
#ifndef HORNBEAM_CONSOLE_JOB_REPORTER_H_
#define HORNBEAM_CONSOLE_JOB_REPORTER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "base/status.h"
#include "console/job_registry.h"
#include "engine/job/job_snapshot.h"

namespace hornbeam::engine {
class Job;
}  // namespace hornbeam::engine

namespace hornbeam::console {

// What the reporter needs of a job; called from the reporter's thread, concurrently with the job's
// own.
struct ReportedJob {
  std::function<engine::JobSnapshot()> snapshot;
  std::function<void()> cancel;
  std::function<void()> drain;
};
ReportedJob Reported(engine::Job* job);

// Where reports go: the registry of this process's own console (outlives the reporter), or a
// console at host:port.
using ReportSink =
    std::function<StatusOr<JobCommands>(const std::string& id, engine::JobSnapshot snapshot)>;
ReportSink ReportTo(JobRegistry* registry);
ReportSink ReportTo(std::string console_endpoint);

// "NAME-20260102-030405-1f3a": readable, and new at every call. Characters that an id cannot have
// become '-'.
std::string NewJobId(std::string_view name, Clock* clock, Rng* rng);

// Owns one thread. A console that does not answer is asked again at the next turn, and the log says
// so once; the job does not notice.
class JobReporter {
 public:
  JobReporter(std::string id, ReportedJob job, ReportSink sink);
  // Reports once more, so that the console has the job's last state, and ends the thread. The job
  // still exists.
  ~JobReporter();
  JobReporter(const JobReporter&) = delete;
  JobReporter& operator=(const JobReporter&) = delete;

  const std::string& id() const { return id_; }

 private:
  void Loop();
  void ReportOnce();

  const std::string id_;
  const ReportedJob job_;
  const ReportSink sink_;
  bool complained_ = false;  // the thread's; the destructor's after the join
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_JOB_REPORTER_H_
