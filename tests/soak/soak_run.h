// The soak test: runs its job in processes of their own, kills them, starts others on the same state directory, and judges what came.
#ifndef HORNBEAM_TESTS_SOAK_SOAK_RUN_H_
#define HORNBEAM_TESTS_SOAK_SOAK_RUN_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "soak_pipeline.h"

namespace hornbeam::soak {

struct SoakOptions {
  int64_t seconds = 60;
  double kill_every_s = 15;  // on the average; 0: never
  int64_t rate = 4000;
  int64_t workers = 0;       // of every process; 0: one to four, at random
  uint64_t seed = 1;
  SoakFaults faults;
  std::string program;       // this one: its child mode runs the job
  std::string folder;        // new: state and output
};

// Prints what happens, and the verdict. OK: the output is exact, and memory and disk have kept their bounds.
Status RunSoak(const SoakOptions& options);

// The child: runs the job to its end.
struct SoakJobOptions {
  SoakPipelineOptions pipeline;
  std::string state_dir;
  int64_t workers = 1;
};
Status RunSoakJob(const SoakJobOptions& options);

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_SOAK_RUN_H_
