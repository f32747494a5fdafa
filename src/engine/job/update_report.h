// Whether a pipeline can take over the state of the job that ran before it, and what becomes of each step.
#ifndef HORNBEAM_ENGINE_JOB_UPDATE_REPORT_H_
#define HORNBEAM_ENGINE_JOB_UPDATE_REPORT_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/job/job_options.h"
#include "engine/job/pipeline_manifest.h"

namespace hornbeam::engine {

struct StepChange {
  enum class Kind {
    kKept,          // goes on with what it has
    kRenamed,       // so does this one, under a new name
    kAdded,         // begins with nothing
    kRemoved,       // it had nothing
    kDropped,       // what it had goes, as was asked for
    kIncompatible,  // the update is refused
  };
  Kind kind = Kind::kKept;
  std::string step;      // its new name; that of a step which is gone
  std::string old_name;  // kRenamed
  std::string problem;   // kIncompatible: what is wrong and what to do, as a clause
};

struct UpdateReport {
  std::vector<StepChange> changes;  // of the new pipeline's steps in order, then of those that are gone
  // What the job is made of from now on; meaningless unless compatible().
  PipelineManifest next;

  bool compatible() const;
  // Steps other than those that are simply kept.
  bool changes_anything() const;
  // A line for each step that is not simply kept, for people.
  std::string ToString() const;
  // OK, or FAILED_PRECONDITION with every incompatible step.
  Status status() const;
};

// `before`: of the job's last run. `after`: of the pipeline as it is now. INVALID_ARGUMENT for options that name steps which are
// not there.
StatusOr<UpdateReport> CompareForUpdate(const PipelineManifest& before, const PipelineManifest& after,
                                        const UpdateOptions& options);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_UPDATE_REPORT_H_
