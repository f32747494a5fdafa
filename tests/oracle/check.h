// Runs a pipeline on both sides and says where they differ.
#ifndef HORNBEAM_TESTS_ORACLE_CHECK_H_
#define HORNBEAM_TESTS_ORACLE_CHECK_H_

#include <string>

#include "hornbeam/testing/modes.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

// Empty where both sides agree, and for a pipeline of which nothing is promised; otherwise the
// difference, or why the engine failed.
std::string Check(const PipelineSpec& spec, const TestMode& mode);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_CHECK_H_
