// Makes a pipeline that fails as small as it can be while it still fails.
#ifndef HORNBEAM_TESTS_ORACLE_SHRINK_H_
#define HORNBEAM_TESTS_ORACLE_SHRINK_H_

#include <functional>

#include "hornbeam/testing/modes.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

struct Failure {
  PipelineSpec spec;
  TestMode mode;
};

// Takes away steps, events and elements, and puts simpler triggers, windowings and modes in their
// places, one at a time, as long as `fails` is true of what is left. REQUIRES: fails(failure).
Failure Shrink(Failure failure, const std::function<bool(const Failure&)>& fails);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_SHRINK_H_
