// The bounded queue between two workers, or a worker and itself: one producer, one consumer, no lock.
//
// What flows in it flows in order: batches, the watermark of the sending side, and the markers that end an epoch.
#ifndef HORNBEAM_ENGINE_EXCHANGE_CHANNEL_H_
#define HORNBEAM_ENGINE_EXCHANGE_CHANNEL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "engine/batch.h"
#include "engine/epoch/epoch_records.h"
#include "model/time.h"

namespace hornbeam::engine {

struct Message {
  enum class Kind { kBatch, kWatermark, kMarker };
  Kind kind = Kind::kBatch;
  std::unique_ptr<Batch> batch;   // kBatch
  model::EventTime watermark{};   // kWatermark
  EpochId epoch = 0;              // kMarker

  // A job is not quiescent while it is under way; markers come and go all the time.
  bool is_work() const { return kind != Kind::kMarker; }
};

class Channel {
 public:
  static constexpr size_t kCapacity = 32;

  // Producer only. Leaves `message` as it was and returns false when the queue is full.
  bool TryPush(Message&& message) {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_seq_cst) == kCapacity) return false;
    ring_[tail % kCapacity] = std::move(message);
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }

  // Consumer only. `*was_full`: a TryPush may have failed since the one before this, so the producer is to be told. Never
  // missed: of a push that finds the queue full and the pop that makes room, one sees the other (hence seq_cst).
  bool TryPop(Message* message, bool* was_full) {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    *message = std::move(ring_[head % kCapacity]);
    head_.store(head + 1, std::memory_order_seq_cst);
    *was_full = tail_.load(std::memory_order_seq_cst) - head >= kCapacity;
    return true;
  }

 private:
  alignas(64) std::atomic<size_t> head_{0};
  alignas(64) std::atomic<size_t> tail_{0};
  alignas(64) std::array<Message, kCapacity> ring_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EXCHANGE_CHANNEL_H_
