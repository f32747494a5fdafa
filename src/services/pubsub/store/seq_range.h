// A half-open range of message sequence numbers.
#ifndef HORNBEAM_SERVICES_PUBSUB_STORE_SEQ_RANGE_H_
#define HORNBEAM_SERVICES_PUBSUB_STORE_SEQ_RANGE_H_

#include <cstdint>
#include <vector>

namespace hornbeam::services::pubsub {

// The place of a message in its topic: dense, from 0.
using Seq = uint64_t;

struct SeqRange {
  Seq first = 0;
  Seq end = 0;  // one past the last

  uint64_t size() const { return end - first; }
  bool operator==(const SeqRange&) const = default;
};

// Adds one seq, growing the last range where it is adjacent.
inline void AppendSeq(std::vector<SeqRange>* ranges, Seq seq) {
  if (!ranges->empty() && ranges->back().end == seq) {
    ++ranges->back().end;
  } else {
    ranges->push_back({seq, seq + 1});
  }
}

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_STORE_SEQ_RANGE_H_
