// What a job looks like at one moment, for people and metrics. Plain values.
#ifndef HORNBEAM_ENGINE_JOB_JOB_SNAPSHOT_H_
#define HORNBEAM_ENGINE_JOB_JOB_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/metrics/metric_cells.h"
#include "engine/operators/parked_report.h"
#include "engine/source/reader.h"
#include "model/time.h"

namespace hornbeam::engine {

enum class JobState { kStarting, kRunning, kDraining, kDone, kDrained, kCancelled, kFailed };

// As Dataflow names them: "JOB_STATE_RUNNING".
const char* ToString(JobState state);

struct StepSnapshot {
  std::string name;
  std::string urn;
  std::vector<std::string> inputs;   // names of the steps before it
  int stage = 0;
  int64_t elements_in = 0;
  std::vector<int64_t> elements_out;  // by output
  int64_t dropped_late = 0;
  int64_t failed = 0;
  int64_t rows_delivered = -1;        // sinks: confirmed by the destination; otherwise -1
  model::EventTime input_watermark = model::EventTime::Min();   // the least over workers
  model::EventTime output_watermark = model::EventTime::Min();
  Backlog backlog;                    // sources
  ParkedSnapshot parked;              // what waits to be tried again
  std::vector<MetricSnapshot> metrics;  // of its user code
};

struct JobSnapshot {
  std::string name;
  JobState state = JobState::kStarting;
  std::string error;                  // kFailed
  int workers = 0;
  bool exactly_once = true;
  int64_t started_at_us = 0;          // since the Unix epoch
  uint64_t sealed_epoch = 0;
  uint64_t log_bytes = 0;
  int64_t state_bytes = 0;            // what keyed state takes in memory, about
  int64_t cold_cells = 0;             // keys and windows whose state is on disk for want of memory
  int64_t undelivered_bytes = 0;
  std::vector<StepSnapshot> steps;    // in topological order
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_JOB_SNAPSHOT_H_
