#include "engine/job/job_snapshot.h"

#include <algorithm>

#include "engine/job/job.h"

namespace hornbeam::engine {

const char* ToString(JobState state) {
  switch (state) {
    case JobState::kStarting: return "JOB_STATE_PENDING";
    case JobState::kRunning: return "JOB_STATE_RUNNING";
    case JobState::kDraining: return "JOB_STATE_DRAINING";
    case JobState::kDone: return "JOB_STATE_DONE";
    case JobState::kDrained: return "JOB_STATE_DRAINED";
    case JobState::kCancelled: return "JOB_STATE_CANCELLED";
    case JobState::kFailed: return "JOB_STATE_FAILED";
  }
  return "JOB_STATE_UNKNOWN";
}

namespace {

void AddMetric(const MetricSnapshot& metric, std::vector<MetricSnapshot>* to) {
  const auto same = std::find_if(to->begin(), to->end(), [&](const MetricSnapshot& other) {
    return other.kind == metric.kind && other.space == metric.space && other.name == metric.name;
  });
  if (same == to->end()) {
    to->push_back(metric);
  } else {
    same->Merge(metric);
  }
}

// Adds what one worker's operator of a step has counted.
void Accumulate(const Stage::Node& node, bool first, StepSnapshot* step) {
  const Operator& op = *node.op;
  const OperatorCounters& counters = op.counters();
  step->elements_in += counters.elements_in.load(std::memory_order_relaxed);
  step->dropped_late += counters.dropped_late.load(std::memory_order_relaxed);
  step->failed += counters.failed.load(std::memory_order_relaxed);
  step->elements_out.resize(op.outputs());
  for (size_t i = 0; i < op.outputs(); ++i) step->elements_out[i] += op.output(i).elements();
  step->parked.Merge(op.parked_report().Get());
  for (const MetricSnapshot& metric : op.metrics().Snapshot()) AddMetric(metric, &step->metrics);
  const model::EventTime input{node.input_watermark_us.load(std::memory_order_relaxed)};
  const model::EventTime output{node.output_watermark_us.load(std::memory_order_relaxed)};
  step->input_watermark = first ? input : std::min(step->input_watermark, input);
  step->output_watermark = first ? output : std::min(step->output_watermark, output);
  if (const auto* source = dynamic_cast<const SourceOperator*>(&op)) {
    const Backlog backlog = source->GetBacklog();
    step->backlog.elements = std::max(step->backlog.elements, backlog.elements);
    step->backlog.bytes = std::max(step->backlog.bytes, backlog.bytes);
    step->backlog.oldest_age_ms = std::max(step->backlog.oldest_age_ms, backlog.oldest_age_ms);
  }
}

}  // namespace

JobSnapshot Job::Snapshot() const {
  JobSnapshot snapshot;
  const JobOptions& options = context_.options();
  snapshot.name = options.name;
  snapshot.state = state_.load(std::memory_order_acquire);
  snapshot.workers = options.workers;
  snapshot.exactly_once = options.mode == ProcessingMode::kExactlyOnce;
  snapshot.started_at_us = started_at_us_;
  snapshot.undelivered_bytes = static_cast<int64_t>(context_.undelivered_bytes());
  snapshot.state_bytes = static_cast<int64_t>(context_.state_budget().used_bytes());
  snapshot.cold_cells = context_.state_budget().cold_cells();
  if (log_ != nullptr) snapshot.log_bytes = log_->size_bytes();
  {
    MutexLock lock(&mutex_);
    if (!failure_.ok()) snapshot.error = std::string(failure_.message());
  }
  const bool started = snapshot.state != JobState::kStarting;
  if (started && coordinator_ != nullptr) snapshot.sealed_epoch = coordinator_->last_sealed();
  for (size_t s = 0; s < plan_.stages.size(); ++s) {
    for (size_t n = 0; n < plan_.stages[s].nodes.size(); ++n) {
      const PlanNode& node = plan_.stages[s].nodes[n];
      const model::Transform& transform = pipeline_.transform(node.transform);
      StepSnapshot& step = snapshot.steps.emplace_back();
      step.name = transform.name;
      step.urn = transform.urn;
      step.stage = static_cast<int>(s);
      for (model::PCollectionId input : transform.inputs) {
        step.inputs.push_back(pipeline_.transform(pipeline_.collection(input).producer).name);
      }
      if (!started) continue;
      for (size_t w = 0; w < workers_.size(); ++w) {
        // A job that failed at its start may not have them all.
        if (s >= workers_[w]->stages().size() || n >= workers_[w]->stages()[s]->nodes().size()) continue;
        Accumulate(*workers_[w]->stages()[s]->nodes()[n], w == 0, &step);
      }
      if (const auto sink = deliveries_.find(node.transform); sink != deliveries_.end()) {
        step.rows_delivered = sink->second->rows_delivered();
      }
    }
  }
  return snapshot;
}

}  // namespace hornbeam::engine
