// A process that is started, watched and killed. Not thread-safe.
#ifndef HORNBEAM_TESTS_SOAK_JOB_PROCESS_H_
#define HORNBEAM_TESTS_SOAK_JOB_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hornbeam::soak {

class JobProcess {
 public:
  JobProcess() = default;
  ~JobProcess() { Kill(); }
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  // argv[0] is the program's path. The process does not outlive this one. REQUIRES: none is running.
  Status Start(const std::vector<std::string>& argv);
  // How it ended, if it has by itself: 0 for success, otherwise its exit code, or 128 and the number of a signal.
  std::optional<int> Ended();
  // SIGKILL, if it runs, and waits for its end.
  void Kill();
  pid_t pid() const { return pid_; }  // 0: none is running

 private:
  pid_t pid_ = 0;
};

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_JOB_PROCESS_H_
