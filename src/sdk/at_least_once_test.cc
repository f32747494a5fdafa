// At-least-once mode: rows go out before the seal, and the seal waits for them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "sdk/fakes/offset_table.h"

namespace hornbeam {
namespace {

using engine::Job;
using Event = KV<std::string, int64_t>;

// Refuses each delivery many times, and looks whether its epoch was sealed before it had it.
class SlowWriter final : public engine::SinkWriter {
 public:
  SlowWriter(const Job* const* job, std::vector<std::string>* rows) : job_(job), rows_(rows) {}
  Status Open(engine::SinkJournal*, std::string_view) override { return absl::OkStatus(); }
  Status Deliver(const engine::Delivery& delivery) override {
    EXPECT_LT((*job_)->last_sealed(), delivery.epoch);
    if (++attempts_ % 50 != 0) return absl::UnavailableError("later");
    for (const std::string_view row : delivery.rows) rows_->emplace_back(row);
    return absl::OkStatus();
  }

 private:
  const Job* const* const job_;
  std::vector<std::string>* const rows_;
  int attempts_ = 0;
};

// Else a crash between the seal and the delivery would lose panes: their state has ended, their input is acknowledged,
// and the log does not hold their rows.
TEST(AtLeastOnceTest, AnEpochIsSealedOnlyWhenTheSinksHaveItsRows) {
  std::vector<TimestampedValue<Event>> events;
  for (int i = 0; i < 60; ++i) events.push_back({{absl::StrCat("k", i % 3), 1}, EventTime::FromSeconds(i)});
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    MemoryFileSystem fs;
    PipelineOptions options;
    options.mode = ProcessingMode::kAtLeastOnce;
    options.deterministic_seed = seed;
    options.workers = 2;
    options.batch_size = 2;
    options.fs = &fs;
    options.state_dir = "/job";
    Pipeline pipeline(options);
    const Job* running = nullptr;
    std::vector<std::string> rows;
    auto write = fakes::WriteTable(nullptr);
    write.new_writer = [&](engine::JobContext*) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
      return std::make_unique<SlowWriter>(&running, &rows);
    };
    pipeline | "Create" >> Create<Event>(events) | "Windows" >> WindowInto(FixedWindows(Seconds(10))) |
        "Sum" >> CombinePerKey(Sum<int64_t>()) | "Text" >> Map([](const Event& sum) { return sum.key; }) |
        "Write" >> write;
    auto job = pipeline.MakeJob();
    ASSERT_TRUE(job.ok()) << job.status();
    running = job->get();
    const Status status = (*job)->Run();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(rows.size(), 18u);
  }
}

}  // namespace
}  // namespace hornbeam
