// The job of the soak test: late data, sessions, fixed windows with allowed lateness, timers, a side input, and a slow sink.
#ifndef HORNBEAM_TESTS_SOAK_SOAK_PIPELINE_H_
#define HORNBEAM_TESTS_SOAK_SOAK_PIPELINE_H_

#include <cstdint>
#include <string>

#include "hornbeam/pipeline.h"
#include "soak_events.h"

namespace hornbeam::soak {

// What is done wrong on purpose, so that it can be seen that the judge sees it. -1: nothing.
struct SoakFaults {
  int64_t lose_event = -1;
  int64_t repeat_event = -1;
};

struct SoakPipelineOptions {
  SoakPlan plan;
  std::string output;         // a file of rows (soak_rows.h)
  bool paced = true;          // by the job's clock, from begun_us on
  int64_t begun_us = 0;
  uint64_t slow_sink_seed = 0;  // 0: the sink is as fast as it can be
  SoakFaults faults;
};

// The number of workers may differ from run to run; nothing else but begun_us and the sink's seed may.
void BuildSoakPipeline(const SoakPipelineOptions& options, Pipeline* pipeline);

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_SOAK_PIPELINE_H_
