// Many seeds, one after another.
#ifndef HORNBEAM_TESTS_ORACLE_CAMPAIGN_H_
#define HORNBEAM_TESTS_ORACLE_CAMPAIGN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hornbeam::oracle {

struct CampaignOptions {
  uint64_t first = 1;
  uint64_t seeds = 1;
  int modes = 3;       // of each pipeline
  bool shrink = true;  // what fails, before it is reported
};

struct CampaignResult {
  uint64_t pipelines = 0;
  uint64_t runs = 0;         // pipelines times modes
  uint64_t panes = 0;        // that the reference put out
  uint64_t whole_panes = 0;  // of them those that are compared pane by pane
  std::vector<uint64_t> failed_seeds;
  std::string report;  // of each failure: the seed, the mode, the pipeline, both outputs
};

CampaignResult RunCampaign(const CampaignOptions& options);
// One line of figures.
std::string Summary(const CampaignResult& result);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_CAMPAIGN_H_
