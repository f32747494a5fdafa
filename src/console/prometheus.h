// The jobs' metrics in Prometheus' text form, under Dataflow's names (job/element_count is
// dataflow_job_element_count); what Dataflow has no name for begins with hornbeam_.
#ifndef HORNBEAM_CONSOLE_PROMETHEUS_H_
#define HORNBEAM_CONSOLE_PROMETHEUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "console/job_registry.h"

namespace hornbeam::console {

std::string PrometheusText(const std::vector<KnownJob>& jobs, int64_t now_us);

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_PROMETHEUS_H_
