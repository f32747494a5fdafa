// Cuts the power at a chosen moment: the disk forgets what was not synced, and nothing gets out of the process any more.
#ifndef HORNBEAM_SDK_FAKES_POWER_SWITCH_H_
#define HORNBEAM_SDK_FAKES_POWER_SWITCH_H_

#include <cstdint>

#include "base/memory_file_system.h"
#include "base/rng.h"
#include "base/status.h"

namespace hornbeam::fakes {

// Single-threaded: for deterministic runs. What a test's source, sink and DoFns do counts as a moment each.
class PowerSwitch {
 public:
  PowerSwitch(MemoryFileSystem* fs, uint64_t seed) : fs_(fs), rng_(seed) {}

  // A new process; the power goes at the `moments`th moment from now, never for 0.
  void On(uint64_t moments) {
    is_on_ = true;
    left_ = moments;
  }
  bool is_on() const { return is_on_; }
  uint64_t moments() const { return moments_; }

  // An error once the power is off.
  Status Moment() {
    ++moments_;
    if (is_on_ && left_ > 0 && --left_ == 0) Off();
    return is_on_ ? absl::OkStatus() : absl::AbortedError("the power is off");
  }
  void Off() {
    is_on_ = false;
    fs_->DropUnsynced(&rng_);
  }

 private:
  MemoryFileSystem* const fs_;
  Rng rng_;
  bool is_on_ = true;
  uint64_t left_ = 0;
  uint64_t moments_ = 0;
};

}  // namespace hornbeam::fakes

#endif  // HORNBEAM_SDK_FAKES_POWER_SWITCH_H_
