// SIGINT and SIGTERM as something to wait for.
#ifndef HORNBEAM_CLI_STOP_SIGNALS_H_
#define HORNBEAM_CLI_STOP_SIGNALS_H_

#include <csignal>
#include <cstdint>

namespace hornbeam::cli {

// Made in main before any other thread, so that every thread has the signals blocked and only the
// waits below take them.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;

  // Until one arrives.
  void Wait();
  // True when one has arrived, waiting for it at most `timeout_ms`.
  bool WaitFor(int64_t timeout_ms);

 private:
  sigset_t signals_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_STOP_SIGNALS_H_
