// The naive reference runner: what a pipeline means, in the plainest code.
//
// One event of the TestStream at a time: its elements go through all steps, one after another; then
// a step of the watermark visits the steps from the source on, each firing what is due before the
// next one hears of it; a step of the clock likewise. Nothing is shared with src/engine but the
// model's values.
#ifndef HORNBEAM_TESTS_ORACLE_REFERENCE_RUNNER_H_
#define HORNBEAM_TESTS_ORACLE_REFERENCE_RUNNER_H_

#include "pane.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

// The outputs of every observed step. REQUIRES: Validate(spec).
Outputs RunReference(const PipelineSpec& spec);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_REFERENCE_RUNNER_H_
