// The pipeline of the crash tests: events from Pub/Sub; each written as it is, and summed by minute
// and key; what is no event to a table of dead letters.
#ifndef HORNBEAM_TESTS_E2E_CRASH_CRASH_PIPELINE_H_
#define HORNBEAM_TESTS_E2E_CRASH_CRASH_PIPELINE_H_

#include <string>

#include "hornbeam/hornbeam.h"

namespace hornbeam::crash {

struct CrashPipelineOptions {
  std::string subscription;  // projects/P/subscriptions/S
  std::string dataset;       // "project.dataset"; exists
  std::string pubsub_endpoint;
  std::string bigquery_rest_endpoint;
  std::string bigquery_grpc_endpoint;
};

// Adds it to `pipeline`. Tables raw, sums and dead_letters are created when they are missing. Of a
// minute and key, the pane with the greatest number in `sums` is the sum.
void BuildCrashPipeline(const CrashPipelineOptions& options, Pipeline* pipeline);

}  // namespace hornbeam::crash

#endif  // HORNBEAM_TESTS_E2E_CRASH_CRASH_PIPELINE_H_
