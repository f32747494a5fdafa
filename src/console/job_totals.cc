#include "console/job_totals.h"

#include <algorithm>
#include <numeric>

namespace hornbeam::console {

JobTotals Totals(const engine::JobSnapshot& snapshot) {
  JobTotals totals;
  for (const engine::StepSnapshot& step : snapshot.steps) {
    if (IsSource(step)) totals.elements_read += ElementsOut(step);
    totals.failed += step.failed;
    totals.dropped_late += step.dropped_late;
    totals.rows_delivered += std::max<int64_t>(0, step.rows_delivered);
  }
  return totals;
}

bool IsSource(const engine::StepSnapshot& step) {
  return step.inputs.empty() && step.urn != "hornbeam:transform:answers:v1";
}

int64_t ElementsOut(const engine::StepSnapshot& step) {
  return std::accumulate(step.elements_out.begin(), step.elements_out.end(), int64_t{0});
}

}  // namespace hornbeam::console
