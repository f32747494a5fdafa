// Reads what a sink answered back into the pipeline: a durable source whose elements the sink's journal keeps until an epoch
// that consumed them is sealed.
#ifndef HORNBEAM_ENGINE_SINK_ANSWER_READER_H_
#define HORNBEAM_ENGINE_SINK_ANSWER_READER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "engine/job/job_context.h"
#include "engine/sink/sink_delivery.h"
#include "engine/source/reader.h"
#include "model/coder.h"

namespace hornbeam::engine {

// Elements carry the greatest timestamp: they belong to no window of the pipeline, and hold nothing back.
template <typename T>
class AnswerReader final : public Reader {
 public:
  explicit AnswerReader(SinkDelivery* delivery) : delivery_(delivery) {}

  Status Open(const ReaderContext& context) override {
    delivery_->SetAnswersWake(context.wake);
    return absl::OkStatus();
  }
  Status Restore(bool replaces, std::string_view payload) override {
    ByteReader in(payload);
    taken_ = in.Varint();
    if (!in.ok()) return absl::DataLossError("malformed position of a sink's answers");
    return absl::OkStatus();
  }
  Status Start() override {
    delivery_->AnswersConsumed(taken_);
    return absl::OkStatus();
  }
  Status StartFinished() override {
    delivery_->AnswersOver();
    return absl::OkStatus();
  }

  StatusOr<Polled> Poll(size_t max_elements) override {
    Polled polled;
    polled.watermark = model::EventTime::EndOfGlobalWindow();  // as old as any answer is
    const bool done = delivery_->done();  // before taking: nothing is given after it
    std::vector<SinkDelivery::Answered> answers;
    delivery_->TakeAnswers(max_elements, &answers);
    if (answers.empty()) {
      polled.state = done ? Polled::State::kFinished : Polled::State::kNothing;
      return polled;
    }
    auto batch = std::make_unique<TypedBatch<T>>();
    for (SinkDelivery::Answered& answer : answers) {
      ByteReader in(answer.encoded);
      T element;
      if (!model::Coder<T>::Decode(in, &element)) return absl::DataLossError("a sink's answer cannot be decoded");
      batch->Append(std::move(element), model::EventTime::EndOfGlobalWindow(), model::Window::Global(),
                    model::PaneInfo::NoFiring());
      taken_ = answer.number;
    }
    polled.state = Polled::State::kData;
    polled.batch = std::move(batch);
    return polled;
  }

  Status OnMarker(EpochId epoch, ReaderRecords* records) override {
    if (taken_ == recorded_) return absl::OkStatus();
    recorded_ = taken_;
    MutexLock lock(&mutex_);
    sealing_.emplace_back(epoch, taken_);
    return Record(records);
  }
  Status Rewrite(ReaderRecords* records) override { return Record(records); }

  void OnSealed(EpochId epoch) override {
    MutexLock lock(&mutex_);
    while (!sealing_.empty() && sealing_.front().first <= epoch) {
      delivery_->AnswersConsumed(sealing_.front().second);
      sealing_.erase(sealing_.begin());
    }
  }
  void Drain() override {}  // ends with its sink

 private:
  Status Record(ReaderRecords* records) {
    std::string position;
    PutVarint(&position, taken_);
    records->Add(true, position);
    return absl::OkStatus();
  }

  SinkDelivery* const delivery_;
  uint64_t taken_ = 0;
  uint64_t recorded_ = 0;
  Mutex mutex_;
  std::vector<std::pair<EpochId, uint64_t>> sealing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SINK_ANSWER_READER_H_
