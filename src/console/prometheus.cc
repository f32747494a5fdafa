#include "console/prometheus.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "console/job_state_json.h"
#include "console/job_totals.h"

namespace hornbeam::console {
namespace {

using engine::StepSnapshot;
using model::EventTime;

std::string Quoted(absl::string_view value) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
}

std::string JobLabels(const KnownJob& job) {
  return absl::StrCat("job_id=", Quoted(job.id), ",job_name=", Quoted(job.snapshot.name));
}

// One metric with all its samples, which the text form wants together.
class Family {
 public:
  Family(std::string* out, absl::string_view name, absl::string_view type, absl::string_view help)
      : out_(out), name_(name) {
    header_ = absl::StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  template <typename Number>
  void Sample(const std::string& labels, Number value) {
    absl::StrAppend(out_, std::exchange(header_, ""), name_, "{", labels, "} ", value, "\n");
  }

 private:
  std::string* const out_;
  const std::string name_;
  std::string header_;
};

// Seconds from `watermark` to now; nothing while it stands at the beginning or after it has reached
// the end of time.
std::optional<double> AgeSeconds(EventTime watermark, int64_t now_us) {
  if (watermark == EventTime::Min() || watermark >= EventTime::EndOfGlobalWindow())
    return std::nullopt;
  return std::max(0.0, static_cast<double>(now_us - watermark.us) / 1e6);
}

void PerJob(std::string* out, const std::vector<KnownJob>& jobs, absl::string_view name,
            absl::string_view type, absl::string_view help,
            const std::function<std::optional<double>(const KnownJob&)>& value) {
  Family family(out, name, type, help);
  for (const KnownJob& job : jobs) {
    if (const std::optional<double> v = value(job)) family.Sample(JobLabels(job), *v);
  }
}

// A sample per step; a negative number says that the step has none.
void PerStep(std::string* out, const std::vector<KnownJob>& jobs, absl::string_view name,
             absl::string_view type, absl::string_view help,
             const std::function<int64_t(const StepSnapshot&)>& value) {
  Family family(out, name, type, help);
  for (const KnownJob& job : jobs) {
    const std::string labels = JobLabels(job);
    for (const StepSnapshot& step : job.snapshot.steps) {
      const int64_t v = value(step);
      if (v >= 0) family.Sample(absl::StrCat(labels, ",ptransform=", Quoted(step.name)), v);
    }
  }
}

std::optional<double> SystemLagSeconds(const KnownJob& job) {
  int64_t oldest_ms = -1;
  for (const StepSnapshot& step : job.snapshot.steps)
    oldest_ms = std::max(oldest_ms, step.backlog.oldest_age_ms);
  if (oldest_ms < 0) return std::nullopt;
  return static_cast<double>(oldest_ms) / 1000;
}

std::optional<double> WatermarkAgeSeconds(const KnownJob& job, int64_t now_us) {
  if (job.snapshot.steps.empty()) return std::nullopt;
  EventTime least = EventTime::Max();
  for (const StepSnapshot& step : job.snapshot.steps)
    least = std::min(least, step.output_watermark);
  return AgeSeconds(least, now_us);
}

void PerStageWatermarkAge(std::string* out, const std::vector<KnownJob>& jobs, int64_t now_us) {
  Family family(out, "dataflow_job_per_stage_data_watermark_age", "gauge",
                "Seconds from the output watermark of a stage to now.");
  for (const KnownJob& job : jobs) {
    if (IsTerminal(job.snapshot.state)) continue;
    std::map<int, EventTime> least;
    for (const StepSnapshot& step : job.snapshot.steps) {
      const auto [it, is_new] = least.emplace(step.stage, step.output_watermark);
      if (!is_new) it->second = std::min(it->second, step.output_watermark);
    }
    for (const auto& [stage, watermark] : least) {
      if (const std::optional<double> age = AgeSeconds(watermark, now_us)) {
        family.Sample(absl::StrCat(JobLabels(job), ",stage=\"", stage, "\""), *age);
      }
    }
  }
}

}  // namespace

std::string PrometheusText(const std::vector<KnownJob>& jobs, int64_t now_us) {
  std::string out;
  const auto running_only = [](auto value) {
    return [value](const KnownJob& job) -> std::optional<double> {
      if (IsTerminal(job.snapshot.state)) return std::nullopt;
      return value(job);
    };
  };

  PerJob(&out, jobs, "dataflow_job_elapsed_time", "gauge", "Seconds that the job has run.",
         [&](const KnownJob& job) -> std::optional<double> {
           if (job.snapshot.started_at_us == 0) return std::nullopt;
           const int64_t end_us = IsTerminal(job.snapshot.state) ? job.updated_at_us : now_us;
           return static_cast<double>(std::max<int64_t>(0, end_us - job.snapshot.started_at_us)) /
                  1e6;
         });
  PerJob(&out, jobs, "dataflow_job_is_failed", "gauge", "1 when the job has failed.",
         [](const KnownJob& job) {
           return std::optional<double>(job.snapshot.state == engine::JobState::kFailed ? 1 : 0);
         });
  PerJob(&out, jobs, "dataflow_job_system_lag", "gauge",
         "Seconds that the oldest message not yet dealt with has waited.",
         running_only(SystemLagSeconds));
  PerJob(&out, jobs, "dataflow_job_data_watermark_age", "gauge",
         "Seconds from the least output watermark of the job to now.",
         running_only([now_us](const KnownJob& job) { return WatermarkAgeSeconds(job, now_us); }));
  PerStageWatermarkAge(&out, jobs, now_us);

  PerStep(&out, jobs, "dataflow_job_element_count", "counter", "Elements that a step has taken in.",
          [](const StepSnapshot& step) {
            return IsSource(step) ? ElementsOut(step) : step.elements_in;
          });
  PerStep(&out, jobs, "dataflow_job_elements_produced_count", "counter",
          "Elements that a step has given out.", ElementsOut);
  PerStep(&out, jobs, "dataflow_job_backlog_elements", "gauge",
          "Elements that wait before a source.",
          [](const StepSnapshot& step) { return step.backlog.elements; });
  PerStep(&out, jobs, "dataflow_job_backlog_bytes", "gauge", "Bytes that wait before a source.",
          [](const StepSnapshot& step) { return step.backlog.bytes; });

  PerStep(&out, jobs, "hornbeam_job_dropped_late_elements", "counter",
          "Elements that came after their window was gone.",
          [](const StepSnapshot& step) { return step.dropped_late; });
  PerStep(&out, jobs, "hornbeam_job_failed_elements", "counter",
          "Elements that a step could not process.",
          [](const StepSnapshot& step) { return step.failed; });
  PerStep(&out, jobs, "hornbeam_job_rows_delivered", "counter",
          "Rows that the destination of a sink has confirmed.",
          [](const StepSnapshot& step) { return step.rows_delivered; });
  PerJob(&out, jobs, "hornbeam_job_log_bytes", "gauge", "Size of the job's durable log.",
         [](const KnownJob& job) {
           return std::optional<double>(static_cast<double>(job.snapshot.log_bytes));
         });
  PerJob(&out, jobs, "hornbeam_job_state_bytes", "gauge", "What the job's keyed state takes in memory, about.",
         [](const KnownJob& job) {
           return std::optional<double>(static_cast<double>(job.snapshot.state_bytes));
         });
  PerJob(&out, jobs, "hornbeam_job_cold_cells", "gauge", "Keys and windows whose state is on disk for want of memory.",
         [](const KnownJob& job) {
           return std::optional<double>(static_cast<double>(job.snapshot.cold_cells));
         });
  PerJob(&out, jobs, "hornbeam_job_undelivered_bytes", "gauge",
         "Bytes that sinks hold sealed and not yet delivered.", [](const KnownJob& job) {
           return std::optional<double>(static_cast<double>(job.snapshot.undelivered_bytes));
         });
  return out;
}

}  // namespace hornbeam::console
