// What the soak test's job uses of memory and disk over time, and whether that stays where it was.
#ifndef HORNBEAM_TESTS_SOAK_RESOURCE_USE_H_
#define HORNBEAM_TESTS_SOAK_RESOURCE_USE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace hornbeam::soak {

struct ResourceSample {
  double at_s = 0;         // since the soak began
  double process_age_s = 0;  // of the job's process, which begins anew after each kill
  int64_t rss_bytes = 0;
  int64_t state_bytes = 0;  // of the state directory
};

// NOT_FOUND where the process has ended.
StatusOr<int64_t> RssOf(int pid);
// The sum of the sizes of the files in the folder and below. Files may come and go meanwhile.
int64_t BytesIn(const std::string& folder);

struct ResourceBounds {
  // A process of the job has all its windows open after so long; samples before count for the state directory alone.
  double warm_up_s = 45;
  // In the later half of the longest life of a process, after the warm-up, the most memory is no more than this times the most of
  // the earlier half, and a few bytes.
  double growth = 1.05;
  int64_t growth_bytes = 8 << 20;
  bool judge_growth = true;  // then a process has to have lived long enough
  int64_t state_bytes = 0;
};

// What the samples were like, and sentences that say which bound was not kept.
struct ResourceVerdict {
  std::vector<std::string> problems;
  int64_t most_rss_bytes = 0;
  int64_t most_state_bytes = 0;
  double longest_life_s = 0;
  int64_t early_rss_bytes = 0, late_rss_bytes = 0;  // the most in the halves of the longest life; 0: it was too short to say
};
ResourceVerdict JudgeResources(const std::vector<ResourceSample>& samples, const ResourceBounds& bounds);

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_RESOURCE_USE_H_
