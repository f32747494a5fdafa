// Compares what the engine put out with what the reference runner did.
#ifndef HORNBEAM_TESTS_ORACLE_COMPARE_H_
#define HORNBEAM_TESTS_ORACLE_COMPARE_H_

#include <string>
#include <vector>

#include "pane.h"
#include "pipeline_spec.h"
#include "promise.h"

namespace hornbeam::oracle {

// Empty where they agree in all that is promised; otherwise both, a line for each element, with '-'
// where only the reference has it and '+' where only the engine does.
std::string Difference(const PipelineSpec& spec, const std::vector<Promise>& promises,
                       const Outputs& reference, const Outputs& engine);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_COMPARE_H_
