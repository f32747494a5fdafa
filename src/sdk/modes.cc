#include <memory>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "engine/state/cold_store.h"
#include "hornbeam/testing/modes.h"

namespace hornbeam {
namespace {

// More starts than any test's job has epochs: a job that does not come nearer its end is stuck.
constexpr int kMostStarts = 1000;

}  // namespace

std::string ToString(const TestMode& mode) {
  return absl::StrCat("batches of ", mode.batch_size, ", ", mode.workers, " workers, ",
                      mode.spills ? "no memory for state, " : "", mode.crashes ? "a crash every few epochs" : "no crash", ", seed ", mode.seed);
}

Status RunInMode(const TestMode& mode, const std::function<void(Pipeline&)>& build) {
  MemoryFileSystem fs;
  ManualClock clock(1'000'000);
  Rng rng(mode.seed);
  for (int start = 0; start < kMostStarts; ++start) {
    PipelineOptions options;
    options.name = "test";
    options.state_dir = "/job";
    options.fs = &fs;
    options.clock = &clock;
    options.workers = mode.workers;
    options.batch_size = mode.batch_size;
    options.deterministic_seed = rng.Next() | 1;
    if (mode.spills) {
      options.state_memory_bytes = 1;
      options.new_cold_store = [](int) { return std::make_unique<engine::MemoryColdStore>(); };
    }
    Pipeline pipeline(options);
    build(pipeline);
    {
      HB_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Job> job, pipeline.MakeJob());
      // Not always after the first: an end takes several (the input's, then the sinks', then their answers').
      bool crashed = false;
      if (mode.crashes) {
        const int epochs = 1 + static_cast<int>(rng.Below(4));
        const int steps = static_cast<int>(rng.Below(30));
        // From here on nothing reaches the disk, not even what an orderly end would write.
        job->StopAfterEpochs(epochs, steps, [&] {
          crashed = true;
          fs.DropUnsynced(&rng);
        });
      }
      const Status status = job->Run();
      if (crashed) continue;
      HB_RETURN_IF_ERROR(status);
      return pipeline.RunChecks();
    }
  }
  return absl::DeadlineExceededError(absl::StrCat("the job has not ended after ", kMostStarts, " starts"));
}

void ForEachMode(int seeds, const std::function<void(const TestMode&)>& test) {
  for (const size_t batch_size : {size_t{1}, size_t{1024}}) {
    for (const int workers : {1, 4}) {
      for (const bool crash : {false, true}) {
        for (int seed = 1; seed <= seeds; ++seed) {
          test({batch_size, workers, crash, static_cast<uint64_t>(seed), /*spills=*/false});
          if (batch_size > 1) test({batch_size, workers, crash, static_cast<uint64_t>(seed), /*spills=*/true});
        }
      }
    }
  }
}

}  // namespace hornbeam
