// Runs a pipeline on the engine.
#ifndef HORNBEAM_TESTS_ORACLE_ENGINE_RUN_H_
#define HORNBEAM_TESTS_ORACLE_ENGINE_RUN_H_

#include "base/status.h"
#include "hornbeam/testing/modes.h"
#include "pane.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

// The outputs of every observed step, or why the job failed.
StatusOr<Outputs> RunOnEngine(const PipelineSpec& spec, const TestMode& mode);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_ENGINE_RUN_H_
