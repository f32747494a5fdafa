// A source that makes elements from their numbers: split s of n makes those numbered s, s + n, s + 2n, ... as fast as they are
// taken, and then ends or, where it is told to stay, waits.
#ifndef HORNBEAM_BENCHMARKS_ENGINE_SEQUENCE_SOURCE_H_
#define HORNBEAM_BENCHMARKS_ENGINE_SEQUENCE_SOURCE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "hornbeam/transforms/create.h"

namespace hornbeam::benchmarks {

struct SequenceOptions {
  int64_t elements = 0;
  int64_t per_second = 1'000'000;  // of event time
  EventTime begin = EventTime::FromMicros(0);
  bool ends = true;                // otherwise it gives nothing more, and its watermark stays
};

// Make: T(int64_t number).
template <typename T, typename Make>
class SequenceReader final : public engine::Reader {
 public:
  SequenceReader(SequenceOptions options, Make make, int64_t split, int64_t splits)
      : options_(options), make_(std::move(make)), splits_(splits), next_(split) {}

  Status Open(const engine::ReaderContext&) override { return absl::OkStatus(); }
  Status Restore(bool, std::string_view payload) override {
    ByteReader in(payload);
    next_ = static_cast<int64_t>(in.Varint());
    return in.ok() ? absl::OkStatus() : absl::DataLossError("malformed position of a sequence");
  }
  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    engine::Polled polled;
    if (next_ >= options_.elements) {
      polled.state = options_.ends ? engine::Polled::State::kFinished : engine::Polled::State::kNothing;
      polled.watermark = TimeOf(options_.elements);
      return polled;
    }
    auto batch = std::make_unique<engine::TypedBatch<T>>();
    batch->Reserve(max_elements);
    for (size_t i = 0; i < max_elements && next_ < options_.elements; ++i, next_ += splits_) {
      batch->values.push_back(make_(next_));
      batch->timestamps.push_back(TimeOf(next_));
    }
    polled.state = engine::Polled::State::kData;
    polled.batch = std::move(batch);
    polled.watermark = TimeOf(std::min(next_, options_.elements));
    return polled;
  }
  Status OnMarker(engine::EpochId, engine::ReaderRecords* records) override {
    if (next_ == recorded_) return absl::OkStatus();
    recorded_ = next_;
    return Rewrite(records);
  }
  Status Rewrite(engine::ReaderRecords* records) override {
    std::string position;
    PutVarint(&position, static_cast<uint64_t>(next_));
    records->Add(true, position);
    return absl::OkStatus();
  }
  void Drain() override {
    next_ = std::max(next_, options_.elements);
    options_.ends = true;
  }

 private:
  EventTime TimeOf(int64_t number) const { return options_.begin + Micros(number * 1'000'000 / options_.per_second); }

  SequenceOptions options_;
  const Make make_;
  const int64_t splits_;
  int64_t next_;
  int64_t recorded_ = -1;
};

template <typename T, typename Make>
Read<T> Sequence(const SequenceOptions& options, int splits, Make make) {
  return Read<T>("hornbeam:benchmark:sequence:v1", static_cast<uint32_t>(splits), false,
                 [options, make, splits](uint32_t split, engine::JobContext*) -> StatusOr<std::unique_ptr<engine::Reader>> {
                   return std::make_unique<SequenceReader<T, Make>>(options, make, split, splits);
                 });
}

}  // namespace hornbeam::benchmarks

#endif  // HORNBEAM_BENCHMARKS_ENGINE_SEQUENCE_SOURCE_H_
