#include "check.h"

#include "absl/strings/str_cat.h"
#include "compare.h"
#include "engine_run.h"
#include "promise.h"
#include "reference_runner.h"

namespace hornbeam::oracle {

std::string Check(const PipelineSpec& spec, const TestMode& mode) {
  const auto promises = PromisesOf(spec, mode);
  if (!promises.ok()) return "";
  const StatusOr<Outputs> outputs = RunOnEngine(spec, mode);
  if (!outputs.ok()) return absl::StrCat("the engine failed: ", outputs.status().ToString(), "\n");
  return Difference(spec, *promises, RunReference(spec), *outputs);
}

}  // namespace hornbeam::oracle
