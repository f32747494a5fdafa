#include "engine/job/update_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hornbeam::engine {
namespace {

using Kind = StepChange::Kind;

// What keeps `after` from going on with the state of `before`; empty when nothing does.
std::string Incompatibility(const StepManifest& before, const StepManifest& after) {
  const char* const advice = "give the step another name and drop the old one's state, or leave it as it was";
  if (before.urn != after.urn) {
    return absl::StrCat("was ", before.urn, " and is ", after.urn, " now; ", advice);
  }
  if (before.state_signature != after.state_signature) {
    return absl::StrCat("keeps state as ", after.state_signature, " now, and the job has it as ", before.state_signature, "; ",
                        advice);
  }
  if (before.windowing != after.windowing) {
    return absl::StrCat("is windowed as ", after.windowing, " now, and the job's state is by ", before.windowing, "; ", advice);
  }
  return {};
}

// The step's name is `name`, or it is in the composite of that name.
bool IsIn(const std::string& step, const std::string& name) {
  return step == name || (step.size() > name.size() && step[name.size()] == '/' && step.compare(0, name.size(), name) == 0);
}

class Comparison {
 public:
  Comparison(const PipelineManifest& before, const PipelineManifest& after, const UpdateOptions& options)
      : before_(before), after_(after), options_(options) {}

  StatusOr<UpdateReport> Run() {
    HB_RETURN_IF_ERROR(CheckOptions());
    for (const StepManifest& step : after_.steps) CompareStep(step);
    report_.next.dropped = before_.dropped;
    for (const StepManifest& step : before_.steps) {
      if (!taken_.contains(step.name)) LoseStep(step);
    }
    CheckStateNames();
    return std::move(report_);
  }

 private:
  Status CheckOptions() const {
    for (const auto& [from, to] : options_.renamed) {
      if (!HasStepIn(before_, from)) return NoStep("renamed", from, "the job that ran before");
      if (!HasStepIn(after_, to)) return NoStep("renamed", to, "the pipeline as it is now");
    }
    for (const std::string& name : options_.drop_state_of) {
      if (!HasStepIn(before_, name)) return NoStep("drop_state_of", name, "the job that ran before");
    }
    return absl::OkStatus();
  }
  static bool HasStepIn(const PipelineManifest& manifest, const std::string& name) {
    return std::any_of(manifest.steps.begin(), manifest.steps.end(),
                       [&](const StepManifest& step) { return IsIn(step.name, name); });
  }
  static Status NoStep(const char* option, const std::string& name, const char* where) {
    return absl::InvalidArgumentError(absl::StrCat("the update option ", option, " names the step '", name, "', and ", where,
                                                   " has none of that name"));
  }

  // The step whose state `step` goes on with.
  const StepManifest* Predecessor(const std::string& name) const {
    for (const auto& [from, to] : options_.renamed) {
      if (IsIn(name, to)) return before_.Find(absl::StrCat(from, name.substr(to.size())));
    }
    for (const auto& [from, to] : options_.renamed) {
      if (IsIn(name, from)) return nullptr;
    }
    return IsDropped(name) ? nullptr : before_.Find(name);
  }
  bool IsDropped(const std::string& name) const {
    return std::any_of(options_.drop_state_of.begin(), options_.drop_state_of.end(),
                       [&](const std::string& dropped) { return IsIn(name, dropped); });
  }

  void CompareStep(const StepManifest& step) {
    StepManifest next = step;
    const StepManifest* const before = Predecessor(step.name);
    if (before == nullptr) {
      next.state_name = FreshStateName(step.name);
      report_.changes.push_back({Kind::kAdded, step.name, {}, {}});
    } else {
      taken_.insert(before->name);
      next.state_name = before->state_name;
      const std::string problem = Incompatibility(*before, step);
      const Kind kind = !problem.empty() ? Kind::kIncompatible : before->name == step.name ? Kind::kKept : Kind::kRenamed;
      report_.changes.push_back({kind, step.name, before->name, problem});
    }
    report_.next.steps.push_back(std::move(next));
  }

  // The log may still have state under the name itself: of a step that was renamed, or dropped.
  std::string FreshStateName(const std::string& name) const {
    std::string fresh = name;
    for (int n = 2; IsTaken(fresh); ++n) fresh = absl::StrCat(name, "#", n);
    return fresh;
  }
  bool IsTaken(const std::string& state_name) const {
    const auto& dropped = before_.dropped;
    return std::find(dropped.begin(), dropped.end(), state_name) != dropped.end() ||
           std::any_of(before_.steps.begin(), before_.steps.end(),
                       [&](const StepManifest& step) { return step.state_name == state_name; });
  }

  void LoseStep(const StepManifest& step) {
    // Also of what keeps nothing by key, as a reader of a sink's answers: the log knows it all the same.
    report_.next.dropped.push_back(step.state_name);
    if (IsDropped(step.name)) {
      report_.changes.push_back({Kind::kDropped, step.name, {}, {}});
    } else if (step.keeps_state()) {
      const char* const what = step.is_source ? "the source's position" : step.is_sink ? "what the sink has not delivered" : "its state";
      report_.changes.push_back({Kind::kIncompatible, step.name, {},
                                 absl::StrCat("is gone from the pipeline, and ", what,
                                              " with it; name it in the update's renamed steps, or drop its state")});
    } else {
      report_.changes.push_back({Kind::kRemoved, step.name, {}, {}});
    }
  }

  // A step that keeps nothing now may have parked elements under its name: names stay unique all the same.
  void CheckStateNames() {
    std::set<std::string> seen;
    for (StepManifest& step : report_.next.steps) {
      while (!seen.insert(step.state_name).second) step.state_name += "#2";
    }
  }

  const PipelineManifest& before_;
  const PipelineManifest& after_;
  const UpdateOptions& options_;
  UpdateReport report_;
  std::set<std::string> taken_;  // names of before_'s steps that live on
};

std::string Line(const StepChange& change) {
  switch (change.kind) {
    case Kind::kKept: return absl::StrCat("kept          '", change.step, "'");
    case Kind::kRenamed: return absl::StrCat("renamed       '", change.old_name, "' is '", change.step, "' now");
    case Kind::kAdded: return absl::StrCat("added         '", change.step, "'");
    case Kind::kRemoved: return absl::StrCat("removed       '", change.step, "'");
    case Kind::kDropped: return absl::StrCat("dropped       '", change.step, "' with what it had");
    case Kind::kIncompatible: return absl::StrCat("incompatible  '", change.step, "' ", change.problem);
  }
  return {};
}

}  // namespace

bool UpdateReport::compatible() const {
  return std::none_of(changes.begin(), changes.end(), [](const StepChange& c) { return c.kind == Kind::kIncompatible; });
}

bool UpdateReport::changes_anything() const {
  return std::any_of(changes.begin(), changes.end(), [](const StepChange& c) { return c.kind != Kind::kKept; });
}

std::string UpdateReport::ToString() const {
  std::string text;
  for (const StepChange& change : changes) {
    if (change.kind != Kind::kKept) absl::StrAppend(&text, Line(change), "\n");
  }
  return text;
}

Status UpdateReport::status() const {
  std::vector<std::string> problems;
  for (const StepChange& change : changes) {
    if (change.kind == Kind::kIncompatible) problems.push_back(absl::StrCat("'", change.step, "' ", change.problem));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the pipeline cannot go on with the state of the job that ran before: ", absl::StrJoin(problems, ". ")));
}

StatusOr<UpdateReport> CompareForUpdate(const PipelineManifest& before, const PipelineManifest& after,
                                        const UpdateOptions& options) {
  return Comparison(before, after, options).Run();
}

}  // namespace hornbeam::engine
