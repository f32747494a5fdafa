// A run: consecutive blocks of a segment in memory, checked, with every message within reach of its
// seq.
#ifndef HORNBEAM_SERVICES_PUBSUB_STORE_RUN_H_
#define HORNBEAM_SERVICES_PUBSUB_STORE_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/pubsub/store/block.h"

namespace hornbeam::services::pubsub {

// A message as it is stored. The body is a PubsubMessage without message_id and publish_time.
struct StoredMessage {
  std::string_view body;
  uint64_t message_id = 0;
  int64_t publish_time_us = 0;
};

// Immutable, so shared between threads without a lock.
class Run {
 public:
  // `bytes` are whole blocks, seqs without a gap, at least one. Null when they are not.
  static std::shared_ptr<const Run> Parse(std::string bytes);

  Seq first_seq() const { return blocks_.front().first_seq; }
  Seq end_seq() const { return blocks_.back().end_seq(); }
  // REQUIRES: first_seq() <= seq < end_seq(). The body lives as long as the run.
  StoredMessage Get(Seq seq) const;
  size_t memory_bytes() const {
    return sizeof(*this) + bytes_.capacity() + offsets_.capacity() * sizeof(uint32_t) +
           blocks_.capacity() * sizeof(BlockHeader);
  }

 private:
  Run() = default;

  std::string bytes_;
  std::vector<uint32_t> offsets_;  // of each message's size varint in bytes_
  std::vector<BlockHeader> blocks_;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_STORE_RUN_H_
