// Which messages of a subscription this process holds, and what may be done with their leases.
//
// Messages are numbered in the order in which they were received, and go through the pipeline in
// that order, so three numbers say everything: how many were received, polled by the pipeline, and
// sealed. Below the sealed one is to be acknowledged, above it the lease is to be kept, and above
// the polled one a drain gives back. A message that comes again is a new entry with its new ack id,
// and the old one is acknowledged as well: so the newest one always is, after the epoch that holds
// its id.
//
// Thread-safe: the receiving thread Adds, the worker reports Polled and Marks, the engine Seals,
// and the ack thread takes.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_ACK_LEDGER_H_
#define HORNBEAM_CONNECTORS_PUBSUB_ACK_LEDGER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/epoch/ids.h"
#include "model/time.h"

namespace hornbeam::connectors {

// Ack ids one behind another: no string for each.
class AckIds {
 public:
  void Add(std::string_view id) {
    bytes_.append(id);
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  size_t bytes() const { return bytes_.size(); }
  std::string_view operator[](size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

class AckLedger {
 public:
  // A lease lasts for `lease` from when it was given and is extended when less than half is left.
  explicit AckLedger(model::Duration lease) : lease_(lease) {}

  // Messages of `bytes` bytes in all that were received together at `now`; `oldest` is the least of
  // their publish times.
  void Add(AckIds ids, uint64_t bytes, model::EventTime oldest, model::ProcessingTime now);
  // The pipeline has taken the first `count` messages of all.
  void Polled(uint64_t count);
  // `epoch` ends behind what was polled so far.
  void Mark(engine::EpochId epoch);
  // All up to `epoch` is durable. True: there is something to acknowledge.
  bool Seal(engine::EpochId epoch);

  struct Acks {
    AckIds ids;
    uint64_t through = 0;  // for Confirm
  };
  // The next messages to acknowledge, of about `max_bytes` of ids at most; none: an empty result.
  // They are not given again until Returned.
  Acks TakeAcks(size_t max_bytes);
  // All messages up to number `through` are acknowledged for certain.
  void Confirm(uint64_t through);
  // The acknowledgement did not arrive: to be taken again.
  void Returned();

  // What of the leases is to be extended now; they count as extended.
  AckIds TakeExtensions(model::ProcessingTime now);
  // When the next lease is to be extended; Never() when none is held.
  model::ProcessingTime NextExtension() const;
  // What the pipeline has not polled, to be given back. It is forgotten.
  AckIds TakeUnpolled();
  // What is not sealed, to be given back when all is over. Everything is forgotten.
  AckIds TakeUnsealed();

  // Every message below this number is acknowledged for certain. Any thread.
  uint64_t confirmed() const;
  // How many were received. Goes back when unpolled messages are taken out.
  uint64_t received() const;
  // Messages received and not confirmed.
  uint64_t outstanding() const;
  // Their bytes, or more: what was received together counts until all of it is confirmed.
  uint64_t outstanding_bytes() const;
  // The least publish time of these, to the block; Max() when there are none.
  model::EventTime oldest() const;

 private:
  struct Block {
    uint64_t first = 0;
    AckIds ids;
    uint64_t bytes = 0;
    model::EventTime oldest;
    model::ProcessingTime leased_at;

    uint64_t end() const { return first + ids.size(); }
  };

  AckIds TakeFrom(uint64_t from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const model::Duration lease_;
  mutable Mutex mutex_;
  std::deque<Block> blocks_
      ABSL_GUARDED_BY(mutex_);  // ascending; the first may be partly confirmed
  std::deque<std::pair<engine::EpochId, uint64_t>> marks_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of blocks_
  uint64_t received_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t polled_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sealed_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t confirmed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_ACK_LEDGER_H_
