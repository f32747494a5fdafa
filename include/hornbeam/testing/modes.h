// Runs one pipeline in every mode in which its result must be the same: one element per batch and many, one worker and four,
// straight through and with a crash every few epochs, with all state in memory and with none left there between epochs, under
// several interleavings.
#ifndef HORNBEAM_TESTING_MODES_H_
#define HORNBEAM_TESTING_MODES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "hornbeam/pipeline.h"

namespace hornbeam {

struct TestMode {
  size_t batch_size = 1024;
  int workers = 1;
  bool crashes = false;            // after every one to four epochs what was not synced is lost, and the job starts again
  uint64_t seed = 1;               // of the interleaving
  bool spills = false;             // at the end of every epoch all state that can leaves memory
};
std::string ToString(const TestMode& mode);

// Builds the pipeline, anew for every start of the job, and runs it to its end.
Status RunInMode(const TestMode& mode, const std::function<void(Pipeline&)>& build);

// Calls `test` once per mode; it builds, runs with RunInMode, and checks. `seeds` interleavings of each.
void ForEachMode(int seeds, const std::function<void(const TestMode&)>& test);

}  // namespace hornbeam

#endif  // HORNBEAM_TESTING_MODES_H_
