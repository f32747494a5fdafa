#include "base/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace hornbeam {

int64_t MachineMemoryBytes() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  // "max" where there is no limit, and no file where there is no such group: neither is a number.
  std::ifstream file("/sys/fs/cgroup/memory.max");
  int64_t group = 0;
  return file >> group && group > 0 ? std::min(machine, group) : machine;
}

void LimitOwnMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const auto most = static_cast<rlim_t>(MachineMemoryBytes() / 4 * 3);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace hornbeam
