// Random pipelines and the modes they run in, from a seed.
#ifndef HORNBEAM_TESTS_ORACLE_RANDOM_SPEC_H_
#define HORNBEAM_TESTS_ORACLE_RANDOM_SPEC_H_

#include <cstdint>
#include <vector>

#include "hornbeam/testing/modes.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

// The same for the same seed. Something is promised of it, at least on one worker without a crash.
PipelineSpec RandomSpec(uint64_t seed);
// Batches of 1, 3 or 1024, and, where something is promised there, 1, 2 or 4 workers, straight
// through or with crashes: the first without, and the last with.
std::vector<TestMode> RandomModes(uint64_t seed, const PipelineSpec& spec, int count);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_RANDOM_SPEC_H_
