// What a job was made of when it last ran: the file PIPELINE in its state directory.
//
// The log knows state by the names of steps alone. The manifest says what those steps were, so that a changed pipeline can be
// compared with it before anything is touched, even while the job is running.
#ifndef HORNBEAM_ENGINE_JOB_PIPELINE_MANIFEST_H_
#define HORNBEAM_ENGINE_JOB_PIPELINE_MANIFEST_H_

#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "model/pipeline.h"

namespace hornbeam::engine {

struct StepManifest {
  std::string name;
  std::string urn;
  // The name under which the log has its state: its own, unless it was renamed since the job began.
  std::string state_name;
  // What its records in the log look like (OperatorFactory::state_signature); empty for a step that keeps nothing by key.
  std::string state_signature;
  // How what it keeps is windowed; empty with the signature.
  std::string windowing{};
  bool is_source = false;
  bool is_sink = false;

  // Taking it away takes something away that the job has.
  bool keeps_state() const { return !state_signature.empty() || is_source || is_sink; }
  friend bool operator==(const StepManifest&, const StepManifest&) = default;
};

struct PipelineManifest {
  std::vector<StepManifest> steps;          // in topological order
  std::vector<std::string> dropped;         // state names of steps that were taken away on purpose

  const StepManifest* Find(const std::string& name) const;
  friend bool operator==(const PipelineManifest&, const PipelineManifest&) = default;
};

// Of a pipeline whose transforms all have factories. State names are the names.
PipelineManifest ManifestOf(const model::Pipeline& pipeline);

// Replaces the directory's manifest as a whole, durably.
Status WriteManifest(FileSystem& fs, const std::string& state_dir, const PipelineManifest& manifest);
// Nothing where there is none. DATA_LOSS for one that cannot be read.
StatusOr<std::optional<PipelineManifest>> ReadManifest(FileSystem& fs, const std::string& state_dir);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_PIPELINE_MANIFEST_H_
