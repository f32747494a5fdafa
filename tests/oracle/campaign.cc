#include "campaign.h"

#include "absl/strings/str_cat.h"
#include "check.h"
#include "promise.h"
#include "random_spec.h"
#include "reference_runner.h"
#include "shrink.h"

namespace hornbeam::oracle {
namespace {

void CountPanes(const PipelineSpec& spec, CampaignResult* result) {
  const auto promises = PromisesOf(spec, TestMode{});
  HB_CHECK(promises.ok());
  for (const auto& [step, panes] : RunReference(spec)) {
    result->panes += panes.size();
    if ((*promises)[static_cast<size_t>(step)].promised == Promised::kPanes) {
      result->whole_panes += panes.size();
    }
  }
}

std::string Report(uint64_t seed, Failure failure, bool shrink) {
  if (shrink) {
    failure =
        Shrink(std::move(failure), [](const Failure& f) { return !Check(f.spec, f.mode).empty(); });
  }
  return absl::StrCat("seed ", seed, " (", ToString(failure.mode), ")\n", ToString(failure.spec),
                      Check(failure.spec, failure.mode), "\n");
}

}  // namespace

CampaignResult RunCampaign(const CampaignOptions& options) {
  CampaignResult result;
  for (uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    const PipelineSpec spec = RandomSpec(seed);
    ++result.pipelines;
    CountPanes(spec, &result);
    for (const TestMode& mode : RandomModes(seed, spec, options.modes)) {
      ++result.runs;
      if (Check(spec, mode).empty()) continue;
      result.failed_seeds.push_back(seed);
      absl::StrAppend(&result.report, Report(seed, {spec, mode}, options.shrink));
      break;
    }
  }
  return result;
}

std::string Summary(const CampaignResult& result) {
  return absl::StrCat(result.pipelines, " pipelines, ", result.runs, " runs, ", result.panes,
                      " panes (", result.whole_panes,
                      " compared whole on one worker): ", result.failed_seeds.size(),
                      " pipelines differ");
}

}  // namespace hornbeam::oracle
