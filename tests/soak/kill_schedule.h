// When the soak test kills: at random moments, but for a long calm in which memory can be seen to stay where it is.
#ifndef HORNBEAM_TESTS_SOAK_KILL_SCHEDULE_H_
#define HORNBEAM_TESTS_SOAK_KILL_SCHEDULE_H_

#include <cmath>
#include <vector>

#include "base/rng.h"

namespace hornbeam::soak {

// Ascending moments in seconds. The gaps are exponential with the mean `every_s`, so some kills hit a process that has hardly begun.
// None between 30 and 75 % of `seconds`, nor after 97 %.
inline std::vector<double> KillMoments(double seconds, double every_s, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> moments;
  if (every_s <= 0) return moments;
  for (double at = 0; at < 0.97 * seconds;) {
    at -= every_s * std::log((static_cast<double>(rng.Below(1 << 20)) + 1) / (1 << 20));
    if (at > 0.3 * seconds && at < 0.75 * seconds) at += 0.45 * seconds;
    if (at < 0.97 * seconds) moments.push_back(at);
  }
  return moments;
}

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_KILL_SCHEDULE_H_
