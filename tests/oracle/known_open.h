// Differences between engine and reference that are known and not settled yet.
#ifndef HORNBEAM_TESTS_ORACLE_KNOWN_OPEN_H_
#define HORNBEAM_TESTS_ORACLE_KNOWN_OPEN_H_

#include <string>

#include "hornbeam/testing/modes.h"
#include "pipeline_spec.h"

namespace hornbeam::oracle {

// Why a difference in this pipeline is expected; empty where none is. Such a pipeline runs all the
// same, and what differs is counted apart.
std::string KnownOpen(const PipelineSpec& spec, const TestMode& mode);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_KNOWN_OPEN_H_
