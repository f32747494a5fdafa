// A pipeline cut into stages: what every worker runs.
//
// A stage is a chain (or tree) of transforms that run in one call, one after another, on one worker. It begins with a
// source or with what arrives from other stages, and is cut only at keyed exchanges and where branches meet.
#ifndef HORNBEAM_ENGINE_PLAN_PLAN_H_
#define HORNBEAM_ENGINE_PLAN_PLAN_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/plan/operator_factory.h"
#include "model/pipeline.h"

namespace hornbeam::engine {

// An edge between stages. Keyed edges and those of side inputs lead from every worker to every worker, others stay on the worker.
struct PlanEdge {
  int from_stage = 0;
  int from_node = 0;       // index in the stage's nodes
  int from_output = 0;
  int to_stage = 0;
  int to_port = 0;         // the input of the stage's root
  bool keyed = false;
  const OperatorFactory* keyed_by = nullptr;  // whose sender it is, when keyed
  bool broadcast = false;  // a side input: every worker gets everything
};

struct PlanNode {
  model::TransformId transform{};
  std::string state_name;    // under which the log has its state: the transform's name, unless a job gives another
  OperatorId op{};           // of state_name
  const OperatorFactory* factory = nullptr;
  int upstream = -1;         // index of the node it is fused behind; -1 for the root
  int upstream_output = 0;
};

struct PlanStage {
  std::vector<PlanNode> nodes;  // topological; the first is the root
};

struct Plan {
  const model::Pipeline* pipeline = nullptr;
  std::vector<PlanStage> stages;  // topological
  std::vector<PlanEdge> edges;
};

// Under what id an operator keeps its state: a hash of the transform's name, so that the same name finds it again in the
// next run, whatever else was added or taken away.
OperatorId OperatorIdOf(std::string_view transform_name);

// INVALID_ARGUMENT when a transform has no factory, or two names have the same id. The pipeline outlives the plan.
StatusOr<Plan> MakePlan(const model::Pipeline& pipeline);

// Something comes of the collection's elements: a transform takes them, other than one that only passes them on (Flatten,
// WindowInto) to where nobody does.
bool IsRead(const model::Pipeline& pipeline, model::PCollectionId collection);

// For people: one line per stage, "2: [Sum/Merge, Format] <- 1 by key".
std::string ToString(const Plan& plan);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_PLAN_PLAN_H_
