// A job's steps in sums.
#ifndef HORNBEAM_CONSOLE_JOB_TOTALS_H_
#define HORNBEAM_CONSOLE_JOB_TOTALS_H_

#include <cstdint>

#include "engine/job/job_snapshot.h"

namespace hornbeam::console {

struct JobTotals {
  int64_t elements_read = 0;  // given out by sources
  int64_t failed = 0;         // dead letters
  int64_t dropped_late = 0;
  int64_t rows_delivered = 0;  // by all sinks
};
JobTotals Totals(const engine::JobSnapshot& snapshot);

// Elements come from outside: it has no input and is not what a sink answers.
bool IsSource(const engine::StepSnapshot& step);
// Over all outputs.
int64_t ElementsOut(const engine::StepSnapshot& step);

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_JOB_TOTALS_H_
