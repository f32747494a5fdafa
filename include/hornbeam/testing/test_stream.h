// TestStream: a source that a test scripts. Elements, steps of the watermark and of the clock come in order, each when nothing
// else is left to happen in the whole job.
//
//   pipeline | "Events" >> TestStream<std::string>()
//                              .AdvanceWatermarkTo(EventTime::FromSeconds(0))
//                              .AddElements({"a", "b"})                       // at the watermark
//                              .AddTimestamped({{"c", EventTime::FromSeconds(5)}})
//                              .AdvanceProcessingTime(Minutes(2))            // needs a ManualClock in the options
//                              .AdvanceWatermarkToInfinity();
#ifndef HORNBEAM_TESTING_TEST_STREAM_H_
#define HORNBEAM_TESTING_TEST_STREAM_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "hornbeam/transforms/create.h"

namespace hornbeam {

namespace internal {

template <typename T>
struct TestStreamEvent {
  std::vector<TimestampedValue<T>> elements{};
  EventTime watermark = EventTime::Min();   // advance to, when it is later
  Duration processing_time{};               // advance by
};

template <typename T>
class TestStreamReader final : public engine::Reader {
 public:
  explicit TestStreamReader(std::shared_ptr<const std::vector<TestStreamEvent<T>>> events)
      : events_(std::move(events)) {}

  bool waits_for_quiescence() const override { return true; }

  Status Open(const engine::ReaderContext& context) override {
    job_ = context.job;
    clock_ = dynamic_cast<ManualClock*>(job_->options().clock);
    moves_clock_ = std::any_of(events_->begin(), events_->end(), [](const TestStreamEvent<T>& event) {
      return event.processing_time > Duration{};
    });
    if (moves_clock_ && clock_ == nullptr) {
      return absl::InvalidArgumentError("a TestStream that advances processing time needs a ManualClock in the options");
    }
    return absl::OkStatus();
  }

  Status Restore(bool replaces, std::string_view payload) override {
    ByteReader in(payload);
    event_ = in.Varint();
    element_ = in.Varint();
    began_us_ = in.Signed();
    restored_ = true;
    if (!in.ok() || event_ > events_->size()) return absl::DataLossError("malformed position of a TestStream");
    return absl::OkStatus();
  }

  // Where the events that an earlier run sealed had brought time; those that it did not seal have not happened.
  Status Start() override {
    if (!restored_ && moves_clock_) began_us_ = clock_->NowMicros();
    int64_t now_us = began_us_;
    for (size_t i = 0; i < event_; ++i) {
      watermark_ = std::max(watermark_, (*events_)[i].watermark);
      now_us += (*events_)[i].processing_time.us;
    }
    if (moves_clock_) clock_->SetMicros(now_us);
    return absl::OkStatus();
  }

  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    engine::Polled polled;
    polled.watermark = watermark_;
    if (event_ == events_->size()) {
      polled.state = engine::Polled::State::kFinished;
      return polled;
    }
    const TestStreamEvent<T>& event = (*events_)[event_];
    polled.state = engine::Polled::State::kData;
    if (element_ < event.elements.size()) {
      auto batch = std::make_unique<engine::TypedBatch<T>>();
      const size_t end = std::min(event.elements.size(), element_ + max_elements);
      for (; element_ < end; ++element_) {
        const TimestampedValue<T>& element = event.elements[element_];
        batch->Append(element.value, element.timestamp, Window::Global(), PaneInfo::NoFiring());
      }
      polled.batch = std::move(batch);
    }
    if (element_ == event.elements.size()) {
      watermark_ = std::max(watermark_, event.watermark);
      polled.watermark = watermark_;
      if (event.processing_time > Duration{}) {
        clock_->AdvanceMicros(event.processing_time.us);
        job_->NoteTimeMoved();
      }
      ++event_;
      element_ = 0;
    }
    return polled;
  }

  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override { return Rewrite(records); }
  Status Rewrite(engine::ReaderRecords* records) override {
    std::string position;
    PutVarint(&position, event_);
    PutVarint(&position, element_);
    PutSigned(&position, began_us_);
    records->Add(true, position);
    return absl::OkStatus();
  }
  void Drain() override {
    event_ = events_->size();
    element_ = 0;
  }

 private:
  const std::shared_ptr<const std::vector<TestStreamEvent<T>>> events_;
  engine::JobContext* job_ = nullptr;
  ManualClock* clock_ = nullptr;
  size_t event_ = 0;
  size_t element_ = 0;
  int64_t began_us_ = 0;  // what the clock showed when the stream first started
  bool restored_ = false;
  bool moves_clock_ = false;
  EventTime watermark_ = EventTime::Min();
};

}  // namespace internal

template <typename T>
class TestStream : public PTransform {
 public:
  // At the watermark that the stream has then.
  TestStream AddElements(std::vector<T> values) const {
    std::vector<TimestampedValue<T>> stamped;
    for (T& value : values) stamped.push_back({std::move(value), watermark_});
    return AddTimestamped(std::move(stamped));
  }
  TestStream AddTimestamped(std::vector<TimestampedValue<T>> values) const {
    return With({.elements = std::move(values)});
  }
  TestStream AdvanceWatermarkTo(EventTime t) const {
    TestStream next = With({.watermark = t});
    next.watermark_ = std::max(watermark_, t);
    return next;
  }
  TestStream AdvanceWatermarkToInfinity() const { return AdvanceWatermarkTo(EventTime::Max()); }
  TestStream AdvanceProcessingTime(Duration by) const { return With({.processing_time = by}); }

  PCollection<T> Expand(Pipeline& pipeline, const std::string& name) const {
    return Read<T>("beam:transform:teststream:v1", 1, false,
                   [events = std::make_shared<const std::vector<internal::TestStreamEvent<T>>>(events_)](
                       uint32_t, engine::JobContext*) { return std::make_unique<internal::TestStreamReader<T>>(events); })
        .Expand(pipeline, name);
  }

 private:
  TestStream With(internal::TestStreamEvent<T> event) const {
    TestStream next = *this;
    next.events_.push_back(std::move(event));
    return next;
  }

  std::vector<internal::TestStreamEvent<T>> events_;
  EventTime watermark_ = EventTime::Min();
};

}  // namespace hornbeam

#endif  // HORNBEAM_TESTING_TEST_STREAM_H_
