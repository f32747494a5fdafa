#include "engine/job/pipeline_manifest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/plan/operator_factory.h"
#include "nlohmann/json.hpp"

namespace hornbeam::engine {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

std::string PathIn(const std::string& state_dir) { return absl::StrCat(state_dir, "/PIPELINE"); }

// All that decides what a window's cells look like and how they are found. How long late elements are waited for does not, but
// whether they are does.
std::string Describe(const model::WindowingStrategy& strategy) {
  return absl::StrCat(ToString(strategy.window_fn), ", ", ToString(strategy.trigger),
                      strategy.accumulation_mode == model::AccumulationMode::kAccumulating ? ", accumulating" : ", discarding",
                      ", timestamps ", static_cast<int>(strategy.timestamp_combiner),
                      strategy.allowed_lateness > model::Duration{} ? ", with late elements" : "");
}

json ToJson(const StepManifest& step) {
  return {{"name", step.name},           {"urn", step.urn},
          {"state_name", step.state_name}, {"state_signature", step.state_signature},
          {"windowing", step.windowing},   {"source", step.is_source},
          {"sink", step.is_sink}};
}

StepManifest StepFrom(const json& step) {
  return {.name = step.at("name"),
          .urn = step.at("urn"),
          .state_name = step.at("state_name"),
          .state_signature = step.at("state_signature"),
          .windowing = step.at("windowing"),
          .is_source = step.at("source"),
          .is_sink = step.at("sink")};
}

}  // namespace

const StepManifest* PipelineManifest::Find(const std::string& name) const {
  const auto at = std::find_if(steps.begin(), steps.end(), [&](const StepManifest& step) { return step.name == name; });
  return at == steps.end() ? nullptr : &*at;
}

PipelineManifest ManifestOf(const model::Pipeline& pipeline) {
  PipelineManifest manifest;
  for (const model::Transform& transform : pipeline.transforms()) {
    const auto& factory = static_cast<const OperatorFactory&>(*transform.payload);
    StepManifest step{.name = transform.name,
                      .urn = transform.urn,
                      .state_name = transform.name,
                      .state_signature = factory.state_signature,
                      .is_source = factory.shape == Shape::kSource,
                      .is_sink = factory.shape == Shape::kSink};
    if (!step.state_signature.empty()) {
      step.windowing = Describe(pipeline.collection(transform.inputs[0]).windowing);
    }
    manifest.steps.push_back(std::move(step));
  }
  return manifest;
}

Status WriteManifest(FileSystem& fs, const std::string& state_dir, const PipelineManifest& manifest) {
  json steps = json::array();
  for (const StepManifest& step : manifest.steps) steps.push_back(ToJson(step));
  const json whole = {{"version", kVersion}, {"steps", std::move(steps)}, {"dropped", manifest.dropped}};
  // Names are bytes of the program's; what is not UTF-8 is replaced, and compares as that.
  const std::string text = whole.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  return Annotate(WriteFileAtomically(fs, PathIn(state_dir), text), "noting what the pipeline is made of");
}

StatusOr<std::optional<PipelineManifest>> ReadManifest(FileSystem& fs, const std::string& state_dir) {
  const std::string path = PathIn(state_dir);
  if (!fs.Exists(path)) return std::optional<PipelineManifest>();
  HB_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, path));
  const json whole = json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    if (whole.at("version") != kVersion) {
      return absl::UnimplementedError(absl::StrCat("'", path, "' was written by a newer version of this program; use that one"));
    }
    PipelineManifest manifest;
    for (const json& step : whole.at("steps")) manifest.steps.push_back(StepFrom(step));
    manifest.dropped = whole.at("dropped").get<std::vector<std::string>>();
    return std::optional(std::move(manifest));
  } catch (const json::exception&) {
    return absl::DataLossError(absl::StrCat("'", path, "' is damaged: it does not say what the job was made of; if the pipeline "
                                            "has not changed since, remove it"));
  }
}

}  // namespace hornbeam::engine
