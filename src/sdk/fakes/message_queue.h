// A source that forgets a message when it is acknowledged and gives it again when it is not, as a subscription does.
#ifndef HORNBEAM_SDK_FAKES_MESSAGE_QUEUE_H_
#define HORNBEAM_SDK_FAKES_MESSAGE_QUEUE_H_

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "hornbeam/transforms/create.h"
#include "sdk/fakes/power_switch.h"

namespace hornbeam::fakes {

// Outlives the jobs that read it. Messages are numbered; split n of m reads those whose number is n modulo m. Thread-safe
// without a switch.
template <typename T>
class MessageQueue {
 public:
  explicit MessageQueue(std::vector<TimestampedValue<T>> messages, PowerSwitch* power = nullptr)
      : messages_(std::move(messages)), power_(power), acked_(messages_.size(), false) {}

  const std::vector<TimestampedValue<T>>& messages() const { return messages_; }
  Status Moment() { return power_ == nullptr ? absl::OkStatus() : power_->Moment(); }

  void Ack(const std::vector<size_t>& numbers) {
    if (power_ != nullptr && !power_->is_on()) return;
    MutexLock lock(&mutex_);
    for (const size_t number : numbers) acked_[number] = true;
  }
  bool IsAcked(size_t number) const {
    MutexLock lock(&mutex_);
    return acked_[number];
  }
  size_t acked() const {
    MutexLock lock(&mutex_);
    return static_cast<size_t>(std::count(acked_.begin(), acked_.end(), true));
  }

 private:
  const std::vector<TimestampedValue<T>> messages_;
  PowerSwitch* const power_;
  mutable Mutex mutex_;
  std::vector<bool> acked_ ABSL_GUARDED_BY(mutex_);
};

// Exactly once: the numbers that it has put out are in the log, and a message is acknowledged when the epoch that put it out
// is sealed.
template <typename T>
class MessageQueueReader final : public engine::Reader {
 public:
  MessageQueueReader(MessageQueue<T>* queue, uint32_t split, uint32_t splits)
      : queue_(queue), split_(split), splits_(splits) {}

  Status Open(const engine::ReaderContext& context) override { return absl::OkStatus(); }
  Status Restore(bool replaces, std::string_view payload) override {
    if (replaces) taken_.clear();
    ByteReader in(payload);
    while (in.ok() && !in.done()) taken_.insert(in.Varint());
    return in.ok() ? absl::OkStatus() : absl::DataLossError("malformed numbers of messages");
  }
  Status Start() override {
    std::vector<size_t> sealed;
    for (size_t number = split_; number < queue_->messages().size(); number += splits_) {
      if (taken_.contains(number)) {
        sealed.push_back(number);
      } else if (queue_->IsAcked(number)) {
        return absl::DataLossError("a message was acknowledged that no sealed epoch has put out");
      } else {
        waiting_.push_back(number);
      }
    }
    queue_->Ack(sealed);
    return absl::OkStatus();
  }
  Status StartFinished() override {
    queue_->Ack({taken_.begin(), taken_.end()});
    return absl::OkStatus();
  }
  bool acknowledges() const override { return true; }

  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    HB_RETURN_IF_ERROR(queue_->Moment());
    engine::Polled polled;
    if (next_ >= waiting_.size()) {
      polled.state = engine::Polled::State::kFinished;
      return polled;
    }
    auto batch = std::make_unique<engine::TypedBatch<T>>();
    for (; next_ < waiting_.size() && batch->size() < max_elements; ++next_) {
      const TimestampedValue<T>& message = queue_->messages()[waiting_[next_]];
      batch->Append(message.value, message.timestamp, Window::Global(), PaneInfo::NoFiring());
      fresh_.push_back(waiting_[next_]);
      taken_.insert(waiting_[next_]);
    }
    polled.state = engine::Polled::State::kData;
    polled.batch = std::move(batch);
    polled.watermark = EventTime::Max();
    for (size_t i = next_; i < waiting_.size(); ++i) {
      polled.watermark = std::min(polled.watermark, queue_->messages()[waiting_[i]].timestamp);
    }
    if (next_ == waiting_.size()) polled.watermark = EventTime::Min();  // the end says so itself
    return polled;
  }

  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override {
    if (fresh_.empty()) return absl::OkStatus();
    std::string payload;
    for (const size_t number : fresh_) PutVarint(&payload, number);
    records->Add(false, payload);
    MutexLock lock(&mutex_);
    sealing_.emplace_back(epoch, std::exchange(fresh_, {}));
    return absl::OkStatus();
  }
  Status Rewrite(engine::ReaderRecords* records) override {
    std::string payload;
    for (const size_t number : taken_) PutVarint(&payload, number);
    records->Add(true, payload);
    return absl::OkStatus();
  }
  void OnSealed(engine::EpochId epoch) override {
    MutexLock lock(&mutex_);
    while (!sealing_.empty() && sealing_.front().first <= epoch) {
      queue_->Ack(sealing_.front().second);
      sealing_.erase(sealing_.begin());
    }
  }
  void Drain() override { next_ = waiting_.size(); }

 private:
  MessageQueue<T>* const queue_;
  const uint32_t split_, splits_;
  std::set<size_t> taken_;
  std::vector<size_t> waiting_;
  size_t next_ = 0;
  std::vector<size_t> fresh_;
  Mutex mutex_;
  std::vector<std::pair<engine::EpochId, std::vector<size_t>>> sealing_ ABSL_GUARDED_BY(mutex_);
};

template <typename T>
Read<T> ReadQueue(MessageQueue<T>* queue, uint32_t splits = 1) {
  return Read<T>("test:transform:read_queue:v1", splits, true,
                 [queue, splits](uint32_t split, engine::JobContext*) {
                   return std::make_unique<MessageQueueReader<T>>(queue, split, splits);
                 });
}

}  // namespace hornbeam::fakes

#endif  // HORNBEAM_SDK_FAKES_MESSAGE_QUEUE_H_
