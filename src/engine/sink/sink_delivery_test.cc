#include "engine/sink/sink_delivery.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

class SimpleWriter final : public SinkWriter {
 public:
  Status Open(SinkJournal*, std::string_view) override { return absl::OkStatus(); }
  Status Deliver(const Delivery&) override { return absl::OkStatus(); }
};

JobOptions Deterministic(ProcessingMode mode) {
  JobOptions options;
  options.deterministic_seed = 1;
  options.workers = 1;
  options.mode = mode;
  return options;
}

std::string Framed(std::string_view row) {
  std::string framed;
  PutBytes(&framed, row);
  return framed;
}

// The log drops the rows of a delivered epoch: it must have the note of their delivery by then.
TEST(SinkDeliveryTest, ADeliveryShowsOnlyWhenItsNoteIsInTheLog) {
  JobContext job(Deterministic(ProcessingMode::kExactlyOnce));
  SinkDelivery delivery(&job, "Sink", std::make_unique<SimpleWriter>(), {});
  int notes = 0;
  const auto append_note = [&](std::string_view, bool) {
    ++notes;
    EXPECT_EQ(delivery.delivered_epoch(), 0u);
    EXPECT_FALSE(delivery.ConfirmedThrough(1));
    EXPECT_GT(job.undelivered_bytes(), 0u);
    return absl::OkStatus();
  };
  ASSERT_TRUE(delivery.Start(append_note, [](Status) {}).ok());
  delivery.Stage(1, 0, 0, Framed("row"));
  delivery.OnSealed(1);
  EXPECT_EQ(delivery.delivered_epoch(), 0u);
  ASSERT_TRUE(delivery.Step().value());
  EXPECT_EQ(notes, 1);
  EXPECT_EQ(delivery.delivered_epoch(), 1u);
  EXPECT_TRUE(delivery.ConfirmedThrough(1));
  EXPECT_EQ(job.undelivered_bytes(), 0u);
}

TEST(SinkDeliveryTest, TheNewestDeliveryNeverGoesBack) {
  JobContext job(Deterministic(ProcessingMode::kAtLeastOnce));
  SinkDelivery delivery(&job, "Sink", std::make_unique<SimpleWriter>(), {});
  ASSERT_TRUE(delivery.Start([](std::string_view, bool) { return absl::OkStatus(); }, [](Status) {}).ok());
  delivery.Stage(2, 0, 0, Framed("of a worker that is ahead"));
  ASSERT_TRUE(delivery.Step().value());
  delivery.Stage(1, 0, 1, Framed("of another"));
  ASSERT_TRUE(delivery.Step().value());
  EXPECT_EQ(delivery.newest_epoch(), 2u);
}

}  // namespace
}  // namespace hornbeam::engine
