#include "base/machine_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hornbeam {
namespace {

TEST(MachineMemoryTest, IsNoMoreThanTheMachineHas) {
  EXPECT_GT(MachineMemoryBytes(), int64_t{64} << 20);
  EXPECT_LE(MachineMemoryBytes(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(MachineMemoryTest, AProcessLimitsItself) {
  const pid_t child = fork();
  if (child == 0) {
    LimitOwnMemory();
    rlimit limit{};
    getrlimit(RLIMIT_DATA, &limit);
    _exit(limit.rlim_cur <= static_cast<rlim_t>(MachineMemoryBytes() / 4 * 3) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace hornbeam
