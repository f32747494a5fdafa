// Reads a numbered sequence, each step of it when it is due: an unbounded source whose position is a number.
#ifndef HORNBEAM_TESTS_SOAK_PACED_READER_H_
#define HORNBEAM_TESTS_SOAK_PACED_READER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "engine/source/reader.h"
#include "hornbeam/types.h"
#include "pace.h"

namespace hornbeam::soak {

// Steps begin, begin + stride, ... below end.
template <typename T>
struct PacedSequence {
  int64_t begin = 0, end = 0, stride = 1;
  Duration slack;                                                         // no element is further behind its due time, if in time
  std::function<EventTime(int64_t)> due;                                  // of a step; grows with it
  std::function<void(int64_t, engine::TypedBatch<T>*)> append;            // the step's elements
};

template <typename T>
class PacedReader final : public engine::Reader {
 public:
  PacedReader(PacedSequence<T> sequence, std::shared_ptr<Pace> pace, int number)
      : sequence_(std::move(sequence)), pace_(std::move(pace)), number_(number), next_(sequence_.begin) {}

  Status Open(const engine::ReaderContext& context) override {
    wake_ = context.wake;
    return absl::OkStatus();
  }
  Status Restore(bool, std::string_view payload) override {
    ByteReader in(payload);
    next_ = sequence_.begin + static_cast<int64_t>(in.Varint());
    return in.ok() ? absl::OkStatus() : absl::DataLossError("malformed position of a paced sequence");
  }
  Status Start() override {
    pace_->Begin(number_, Due());
    if (pace_->has_clock()) ticker_ = std::jthread([this](std::stop_token stop) { Tick(stop); });
    return absl::OkStatus();
  }
  Status StartFinished() override {
    pace_->Begin(number_, EventTime::Max());
    return absl::OkStatus();
  }

  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    engine::Polled polled;
    const EventTime limit = pace_->Limit();
    auto batch = std::make_unique<engine::TypedBatch<T>>();
    for (; next_ < sequence_.end && batch->size() < max_elements && Due() <= limit; next_ += sequence_.stride) {
      sequence_.append(next_, batch.get());
    }
    if (!batch->empty()) {
      polled.state = engine::Polled::State::kData;
      polled.batch = std::move(batch);
    } else if (next_ >= sequence_.end) {
      polled.state = engine::Polled::State::kFinished;
    }
    if (next_ < sequence_.end) polled.watermark = Due() - sequence_.slack;
    return polled;
  }
  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override {
    pace_->NoteMarker(number_, epoch, Due());
    if (next_ == recorded_) return absl::OkStatus();
    recorded_ = next_;
    return Rewrite(records);
  }
  Status Rewrite(engine::ReaderRecords* records) override {
    std::string position;
    PutVarint(&position, static_cast<uint64_t>(next_ - sequence_.begin));
    records->Add(true, position);
    return absl::OkStatus();
  }
  void OnSealed(engine::EpochId epoch) override { pace_->NoteSealed(number_, epoch); }
  void Drain() override { next_ = std::max(next_, sequence_.end); }

 private:
  EventTime Due() const { return next_ < sequence_.end ? sequence_.due(next_) : EventTime::Max(); }
  void Tick(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      wake_();
    }
  }

  const PacedSequence<T> sequence_;
  const std::shared_ptr<Pace> pace_;
  const int number_;
  std::function<void()> wake_;
  int64_t next_;
  int64_t recorded_ = -1;
  std::jthread ticker_;  // last, so that it ends first
};

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_PACED_READER_H_
