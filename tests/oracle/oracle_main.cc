// oracle: random pipelines on the engine and on the reference runner.
//
//   oracle --seeds 10000 --first 1     # exit 1 if one differs; each is shrunk and printed
//   oracle --seed 4711 --show          # one of them, with its pipeline
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "campaign.h"
#include "pipeline_spec.h"
#include "random_spec.h"

namespace hornbeam::oracle {
namespace {

// Failures are printed after as many pipelines.
constexpr uint64_t kSeedsPerReport = 10;

int Main(int argc, char** argv) {
  CLI::App app("Runs random pipelines on the engine and on a naive reference runner.");
  CampaignOptions options;
  options.seeds = 1000;
  uint64_t only = 0, most_failures = 20;
  bool show = false;
  app.add_option("--seeds", options.seeds, "How many pipelines")->capture_default_str();
  app.add_option("--first", options.first, "The first seed")->capture_default_str();
  app.add_option("--seed", only, "This one alone");
  app.add_option("--modes", options.modes, "In how many modes each is run")->capture_default_str();
  app.add_option("--most-failures", most_failures, "Stop after as many")->capture_default_str();
  app.add_flag("--shrink,!--no-shrink", options.shrink, "Shrink what fails")->default_val(true);
  app.add_flag("--show", show, "Print the pipelines");
  CLI11_PARSE(app, argc, argv);
  if (only != 0) options.first = only, options.seeds = 1;

  CampaignResult total;
  const uint64_t end = options.first + options.seeds;
  while (options.first < end && total.failed_seeds.size() < most_failures) {
    if (show) {
      std::printf("seed %lu\n%s", options.first, ToString(RandomSpec(options.first)).c_str());
    }
    options.seeds = show ? 1 : std::min(kSeedsPerReport, end - options.first);
    const CampaignResult part = RunCampaign(options);
    std::printf("%s", part.report.c_str());
    std::fflush(stdout);
    options.first += options.seeds;
    total.pipelines += part.pipelines;
    total.runs += part.runs;
    total.panes += part.panes;
    total.whole_panes += part.whole_panes;
    total.failed_seeds.insert(total.failed_seeds.end(), part.failed_seeds.begin(),
                              part.failed_seeds.end());
  }
  std::printf("%s\n", Summary(total).c_str());
  return total.failed_seeds.empty() ? 0 : 1;
}

}  // namespace
}  // namespace hornbeam::oracle

int main(int argc, char** argv) { return hornbeam::oracle::Main(argc, argv); }
