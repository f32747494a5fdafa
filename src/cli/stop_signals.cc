#include "cli/stop_signals.h"

#include <pthread.h>

#include <ctime>

namespace hornbeam::cli {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void StopSignals::Wait() {
  int signal = 0;
  while (sigwait(&signals_, &signal) != 0) {
  }
}

bool StopSignals::WaitFor(int64_t timeout_ms) {
  const timespec timeout{.tv_sec = timeout_ms / 1000, .tv_nsec = (timeout_ms % 1000) * 1'000'000};
  return sigtimedwait(&signals_, nullptr, &timeout) > 0;
}

}  // namespace hornbeam::cli
