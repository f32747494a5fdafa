// A sink that is slow now and then: waits, for as long as a seed says, before and after what another writer does.
#ifndef HORNBEAM_TESTS_SOAK_SLOW_WRITER_H_
#define HORNBEAM_TESTS_SOAK_SLOW_WRITER_H_

#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "base/rng.h"
#include "engine/sink/sink_writer.h"

namespace hornbeam::soak {

class SlowWriter final : public engine::SinkWriter {
 public:
  SlowWriter(std::unique_ptr<engine::SinkWriter> writer, uint64_t seed) : writer_(std::move(writer)), rng_(seed) {}

  Status Open(engine::SinkJournal* journal, std::string_view state) override { return writer_->Open(journal, state); }
  Status Deliver(const engine::Delivery& delivery) override {
    Wait();
    HB_RETURN_IF_ERROR(writer_->Deliver(delivery));
    Wait();
    return absl::OkStatus();
  }
  Status Finish() override { return writer_->Finish(); }

 private:
  // Mostly not at all, often a few milliseconds, seldom so long that many epochs pile up; on the average so short that the sink comes
  // along, also on a machine that is busy.
  void Wait() {
    const uint64_t roll = rng_.Below(200);
    const uint64_t most_ms = roll == 0 ? 2000 : roll < 30 ? 40 : 0;
    if (most_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(rng_.Below(most_ms)));
  }

  const std::unique_ptr<engine::SinkWriter> writer_;
  Rng rng_;
};

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_SLOW_WRITER_H_
