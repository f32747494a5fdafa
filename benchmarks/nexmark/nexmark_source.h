// A bounded, unbounded-looking source of Nexmark events: split s of n has the events s, s + n, s + 2n, ...
#ifndef HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_SOURCE_H_
#define HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_SOURCE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "benchmarks/nexmark/nexmark_generator.h"
#include "hornbeam/transforms/create.h"

namespace hornbeam::benchmarks {

class NexmarkReader final : public engine::Reader {
 public:
  NexmarkReader(const NexmarkConfig& config, int64_t events, int64_t split, int64_t splits)
      : generator_(config), events_(events), splits_(splits), next_(split) {}

  Status Open(const engine::ReaderContext&) override { return absl::OkStatus(); }
  Status Restore(bool, std::string_view payload) override {
    ByteReader in(payload);
    next_ = static_cast<int64_t>(in.Varint());
    return in.ok() ? absl::OkStatus() : absl::DataLossError("malformed position of a Nexmark source");
  }
  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    engine::Polled polled;
    if (next_ >= events_) {
      polled.state = engine::Polled::State::kFinished;
      return polled;
    }
    auto batch = std::make_unique<engine::TypedBatch<Event>>();
    batch->Reserve(max_elements);
    for (size_t i = 0; i < max_elements && next_ < events_; ++i, next_ += splits_) {
      batch->values.push_back(generator_.Make(next_));
      batch->timestamps.push_back(generator_.TimeOf(next_));
    }
    polled.state = engine::Polled::State::kData;
    polled.batch = std::move(batch);
    polled.watermark = next_ >= events_ ? EventTime::Max() : generator_.TimeOf(next_);
    return polled;
  }
  Status OnMarker(engine::EpochId, engine::ReaderRecords* records) override { return Rewrite(records); }
  Status Rewrite(engine::ReaderRecords* records) override {
    std::string position;
    PutVarint(&position, static_cast<uint64_t>(next_));
    records->Add(true, position);
    return absl::OkStatus();
  }
  void Drain() override { next_ = std::max(next_, events_); }

 private:
  const NexmarkGenerator generator_;
  const int64_t events_, splits_;
  int64_t next_;
};

// As many splits as `workers`.
inline Read<Event> NexmarkSource(const NexmarkConfig& config, int64_t events, int workers) {
  return Read<Event>("hornbeam:benchmark:nexmark:v1", static_cast<uint32_t>(workers), false,
                     [config, events, workers](uint32_t split, engine::JobContext*) -> StatusOr<std::unique_ptr<engine::Reader>> {
                       return std::make_unique<NexmarkReader>(config, events, split, workers);
                     });
}

}  // namespace hornbeam::benchmarks

#endif  // HORNBEAM_BENCHMARKS_NEXMARK_NEXMARK_SOURCE_H_
