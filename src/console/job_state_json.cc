#include "console/job_state_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::console {
namespace {

using engine::JobSnapshot;
using engine::JobState;
using engine::MetricKind;
using engine::MetricSnapshot;
using engine::ParkedSnapshot;
using engine::StepSnapshot;
using nlohmann::json;

json ParkedToJson(const ParkedSnapshot& parked) {
  return {
      {"count", parked.count},
      {"oldest_since_us", parked.oldest_since_us},
      {"holds_us", parked.holds.us},
      {"error", parked.error},
  };
}

json MetricToJson(const MetricSnapshot& metric) {
  json object = {
      {"kind", engine::ToString(metric.kind)}, {"namespace", metric.space}, {"name", metric.name}};
  switch (metric.kind) {
    case MetricKind::kCounter: object["value"] = metric.value; break;
    case MetricKind::kDistribution:
      object["count"] = metric.count;
      object["sum"] = metric.sum;
      object["min"] = metric.min;
      object["max"] = metric.max;
      break;
    case MetricKind::kGauge:
      object["value"] = metric.value;
      object["at_us"] = metric.at_us;
      break;
  }
  return object;
}

json StepToJson(const StepSnapshot& step) {
  json metrics = json::array();
  for (const MetricSnapshot& metric : step.metrics) metrics.push_back(MetricToJson(metric));
  return {
      {"name", step.name},
      {"urn", step.urn},
      {"inputs", step.inputs},
      {"stage", step.stage},
      {"elements_in", step.elements_in},
      {"elements_out", step.elements_out},
      {"dropped_late", step.dropped_late},
      {"failed", step.failed},
      {"rows_delivered", step.rows_delivered},
      {"input_watermark_us", step.input_watermark.us},
      {"output_watermark_us", step.output_watermark.us},
      {"backlog",
       {{"elements", step.backlog.elements},
        {"bytes", step.backlog.bytes},
        {"oldest_age_ms", step.backlog.oldest_age_ms}}},
      {"parked", ParkedToJson(step.parked)},
      {"metrics", std::move(metrics)},
  };
}

// A field of another type than it should have.
struct WrongType {
  std::string field;
};

// Reads a field into *out when it is there; throws WrongType.
template <typename T>
void Read(const json& object, const char* name, T* out) {
  if (!object.is_object()) throw WrongType{name};
  const auto it = object.find(name);
  if (it == object.end()) return;
  try {
    *out = it->get<T>();
  } catch (const json::exception&) {
    throw WrongType{name};
  }
}

MetricSnapshot MetricFromJson(const json& object) {
  (void)object.get_ref<const json::object_t&>();  // throws when it is none
  MetricSnapshot metric;
  std::string kind = engine::ToString(metric.kind);
  Read(object, "kind", &kind);
  for (const MetricKind k : {MetricKind::kCounter, MetricKind::kDistribution, MetricKind::kGauge}) {
    if (kind == engine::ToString(k)) metric.kind = k;
  }
  Read(object, "namespace", &metric.space);
  Read(object, "name", &metric.name);
  Read(object, "value", &metric.value);
  Read(object, "count", &metric.count);
  Read(object, "sum", &metric.sum);
  Read(object, "min", &metric.min);
  Read(object, "max", &metric.max);
  Read(object, "at_us", &metric.at_us);
  return metric;
}

StepSnapshot StepFromJson(const json& object) {
  if (!object.is_object()) throw WrongType{"steps"};
  StepSnapshot step;
  Read(object, "name", &step.name);
  Read(object, "urn", &step.urn);
  Read(object, "inputs", &step.inputs);
  Read(object, "stage", &step.stage);
  Read(object, "elements_in", &step.elements_in);
  Read(object, "elements_out", &step.elements_out);
  Read(object, "dropped_late", &step.dropped_late);
  Read(object, "failed", &step.failed);
  Read(object, "rows_delivered", &step.rows_delivered);
  Read(object, "input_watermark_us", &step.input_watermark.us);
  Read(object, "output_watermark_us", &step.output_watermark.us);
  if (const auto backlog = object.find("backlog"); backlog != object.end()) {
    Read(*backlog, "elements", &step.backlog.elements);
    Read(*backlog, "bytes", &step.backlog.bytes);
    Read(*backlog, "oldest_age_ms", &step.backlog.oldest_age_ms);
  }
  if (const auto parked = object.find("parked"); parked != object.end()) {
    Read(*parked, "count", &step.parked.count);
    Read(*parked, "oldest_since_us", &step.parked.oldest_since_us);
    Read(*parked, "holds_us", &step.parked.holds.us);
    Read(*parked, "error", &step.parked.error);
  }
  if (const auto metrics = object.find("metrics"); metrics != object.end()) {
    for (const json& metric : *metrics) step.metrics.push_back(MetricFromJson(metric));
  }
  return step;
}

StatusOr<JobState> StateFromName(std::string_view name) {
  for (const JobState state :
       {JobState::kStarting, JobState::kRunning, JobState::kDraining, JobState::kDone,
        JobState::kDrained, JobState::kCancelled, JobState::kFailed}) {
    if (name == engine::ToString(state)) return state;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("job state '", absl::string_view(name.data(), name.size()),
                   "' is unknown; it should be one like JOB_STATE_RUNNING"));
}

}  // namespace

json ToJson(const JobSnapshot& snapshot) {
  json steps = json::array();
  for (const StepSnapshot& step : snapshot.steps) steps.push_back(StepToJson(step));
  return {
      {"name", snapshot.name},
      {"state", engine::ToString(snapshot.state)},
      {"error", snapshot.error},
      {"workers", snapshot.workers},
      {"exactly_once", snapshot.exactly_once},
      {"started_at_us", snapshot.started_at_us},
      {"sealed_epoch", snapshot.sealed_epoch},
      {"log_bytes", snapshot.log_bytes},
      {"state_bytes", snapshot.state_bytes},
      {"cold_cells", snapshot.cold_cells},
      {"undelivered_bytes", snapshot.undelivered_bytes},
      {"steps", std::move(steps)},
  };
}

StatusOr<JobSnapshot> JobSnapshotFromJson(const json& object) {
  if (!object.is_object()) return absl::InvalidArgumentError("a job's state must be a JSON object");
  JobSnapshot snapshot;
  std::string state = engine::ToString(snapshot.state);
  try {
    Read(object, "name", &snapshot.name);
    Read(object, "state", &state);
    Read(object, "error", &snapshot.error);
    Read(object, "workers", &snapshot.workers);
    Read(object, "exactly_once", &snapshot.exactly_once);
    Read(object, "started_at_us", &snapshot.started_at_us);
    Read(object, "sealed_epoch", &snapshot.sealed_epoch);
    Read(object, "log_bytes", &snapshot.log_bytes);
    Read(object, "state_bytes", &snapshot.state_bytes);
    Read(object, "cold_cells", &snapshot.cold_cells);
    Read(object, "undelivered_bytes", &snapshot.undelivered_bytes);
    if (const auto steps = object.find("steps"); steps != object.end()) {
      if (!steps->is_array()) throw WrongType{"steps"};
      for (const json& step : *steps) snapshot.steps.push_back(StepFromJson(step));
    }
  } catch (const WrongType& wrong) {
    return absl::InvalidArgumentError(
        absl::StrCat("the field '", wrong.field, "' of a job's state has the wrong type"));
  }
  HB_ASSIGN_OR_RETURN(snapshot.state, StateFromName(state));
  return snapshot;
}

std::string JsonText(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool IsTerminal(JobState state) {
  return state == JobState::kDone || state == JobState::kDrained || state == JobState::kCancelled ||
         state == JobState::kFailed;
}

}  // namespace hornbeam::console
