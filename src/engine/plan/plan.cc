#include "engine/plan/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/key_hash.h"

namespace hornbeam::engine {
namespace {

using model::PCollectionId;
using model::Transform;
using model::TransformId;

// Where a PCollection comes out: a node's output inside a stage.
struct Place {
  int stage = 0;
  int node = 0;
  int output = 0;
};

class Planner {
 public:
  explicit Planner(const model::Pipeline& pipeline) : pipeline_(pipeline), places_(pipeline.collections().size()) {}

  StatusOr<Plan> Run() {
    plan_.pipeline = &pipeline_;
    std::map<OperatorId, std::string> names;
    for (const Transform& transform : pipeline_.transforms()) {
      const auto [at, fresh] = names.emplace(OperatorIdOf(transform.name), transform.name);
      if (!fresh) {
        return absl::InvalidArgumentError(absl::StrCat("the names '", at->second, "' and '", transform.name,
                                                       "' fall on the same operator id; rename one"));
      }
      HB_RETURN_IF_ERROR(PlaceTransform(IdOf(transform)));
    }
    return std::move(plan_);
  }

 private:
  Status PlaceTransform(TransformId id) {
    const Transform& transform = pipeline_.transform(id);
    const auto* factory = dynamic_cast<const OperatorFactory*>(transform.payload.get());
    if (factory == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform '", transform.name, "' (", transform.urn, ") is not one that this engine runs"));
    }
    switch (factory->shape) {
      case Shape::kSource:
      case Shape::kAnswers:
        NewStage(id, *factory);
        break;
      case Shape::kKeyed: {
        const int stage = NewStage(id, *factory);
        for (size_t port = 0; port < transform.inputs.size(); ++port) {
          ConnectKeyed(transform.inputs[port], stage, static_cast<int>(port), *factory);
        }
        break;
      }
      case Shape::kSideInput: {
        const int stage = NewStage(id, *factory);
        for (size_t port = 0; port < transform.inputs.size(); ++port) {
          Connect(transform.inputs[port], stage, static_cast<int>(port), nullptr);
          plan_.edges.back().broadcast = port > 0;
        }
        break;
      }
      case Shape::kFlatten: {
        if (!NeedsStage(id)) break;
        const int stage = NewStage(id, *factory);
        for (PCollectionId input : transform.inputs) Connect(input, stage, 0, nullptr);
        break;
      }
      case Shape::kElementwise:
      case Shape::kSink: {
        const Place at = places_[static_cast<size_t>(transform.inputs[0])];
        AddNode(id, *factory, at.stage, at.node, at.output);
        break;
      }
    }
    return absl::OkStatus();
  }

  int NewStage(TransformId id, const OperatorFactory& factory) {
    plan_.stages.emplace_back();
    AddNode(id, factory, static_cast<int>(plan_.stages.size()) - 1, -1, 0);
    return static_cast<int>(plan_.stages.size()) - 1;
  }

  void AddNode(TransformId id, const OperatorFactory& factory, int stage, int upstream, int upstream_output) {
    std::vector<PlanNode>& nodes = plan_.stages[static_cast<size_t>(stage)].nodes;
    const Transform& transform = pipeline_.transform(id);
    nodes.push_back({id, transform.name, OperatorIdOf(transform.name), &factory, upstream, upstream_output});
    for (size_t i = 0; i < transform.outputs.size(); ++i) {
      places_[static_cast<size_t>(transform.outputs[i])] = {stage, static_cast<int>(nodes.size()) - 1,
                                                            static_cast<int>(i)};
    }
  }

  // A keyed exchange takes what a Flatten merges from the branches themselves.
  void ConnectKeyed(PCollectionId input, int stage, int port, const OperatorFactory& factory) {
    const Transform& producer = pipeline_.transform(pipeline_.collection(input).producer);
    const auto* producing = static_cast<const OperatorFactory*>(producer.payload.get());
    if (producing->shape == Shape::kFlatten) {
      for (PCollectionId branch : producer.inputs) ConnectKeyed(branch, stage, port, factory);
      return;
    }
    Connect(input, stage, port, &factory);
  }

  void Connect(PCollectionId input, int stage, int port, const OperatorFactory* keyed_by) {
    const Place from = places_[static_cast<size_t>(input)];
    plan_.edges.push_back({from.stage, from.node, from.output, stage, port, keyed_by != nullptr, keyed_by});
  }

  // A Flatten is a stage of its own only when something other than a keyed exchange reads it.
  bool NeedsStage(TransformId flatten) const {
    const PCollectionId merged = pipeline_.transform(flatten).outputs[0];
    for (const Transform& reader : pipeline_.transforms()) {
      for (PCollectionId input : reader.inputs) {
        if (input != merged) continue;
        const auto* factory = dynamic_cast<const OperatorFactory*>(reader.payload.get());
        if (factory == nullptr || factory->shape == Shape::kElementwise || factory->shape == Shape::kSideInput || factory->shape == Shape::kSink) {
          return true;
        }
        if (factory->shape == Shape::kFlatten && NeedsStage(IdOf(reader))) return true;
      }
    }
    return false;
  }

  TransformId IdOf(const Transform& transform) const {
    return TransformId{static_cast<int32_t>(&transform - pipeline_.transforms().data())};
  }

  const model::Pipeline& pipeline_;
  std::vector<Place> places_;
  Plan plan_;
};

}  // namespace

OperatorId OperatorIdOf(std::string_view transform_name) {
  return OperatorId{static_cast<uint32_t>(model::HashKeyBytes(transform_name).low)};
}

bool IsRead(const model::Pipeline& pipeline, model::PCollectionId collection) {
  for (const Transform& reader : pipeline.transforms()) {
    if (std::find(reader.inputs.begin(), reader.inputs.end(), collection) == reader.inputs.end()) continue;
    const auto* factory = dynamic_cast<const OperatorFactory*>(reader.payload.get());
    const bool passes_on = reader.urn == "beam:transform:window_into:v1" ||
                           (factory != nullptr && factory->shape == Shape::kFlatten);
    if (!passes_on || IsRead(pipeline, reader.outputs[0])) return true;
  }
  return false;
}

StatusOr<Plan> MakePlan(const model::Pipeline& pipeline) { return Planner(pipeline).Run(); }

std::string ToString(const Plan& plan) {
  std::string out;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    std::vector<std::string> names;
    for (const PlanNode& node : plan.stages[s].nodes) names.push_back(plan.pipeline->transform(node.transform).name);
    absl::StrAppend(&out, s, ": [", absl::StrJoin(names, ", "), "]");
    for (const PlanEdge& edge : plan.edges) {
      if (edge.to_stage == static_cast<int>(s)) absl::StrAppend(&out, " <- ", edge.from_stage, edge.keyed ? " by key" : edge.broadcast ? " to all" : "");
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace hornbeam::engine
