// A block: the unit that a topic's segment is written and checked in. docs/formats/pubsub.md has
// the layout.
#ifndef HORNBEAM_SERVICES_PUBSUB_STORE_BLOCK_H_
#define HORNBEAM_SERVICES_PUBSUB_STORE_BLOCK_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "services/pubsub/store/seq_range.h"

namespace hornbeam::services::pubsub {

inline constexpr size_t kSegmentHeaderBytes = 24;
inline constexpr size_t kBlockHeaderBytes = 48;
// Larger than any publish that the rules let through; a header that claims more is damaged.
inline constexpr uint32_t kMaxBlockPayloadBytes = 64u << 20;

struct BlockHeader {
  uint32_t payload_checksum = 0;
  uint32_t payload_bytes = 0;
  uint32_t message_count = 0;
  bool starts_commit = false;
  Seq first_seq = 0;
  uint64_t first_message_id = 0;
  int64_t publish_time_us = 0;

  Seq end_seq() const { return first_seq + message_count; }
  uint64_t total_bytes() const { return kBlockHeaderBytes + payload_bytes; }
};

void AppendSegmentHeader(std::string* out, Seq first_seq);
// Whether `bytes` begins with an intact segment header for `first_seq`.
bool CheckSegmentHeader(std::string_view bytes, Seq first_seq);

// Fills in size and checksum of `payload`, and appends header and payload.
void AppendBlock(std::string* out, BlockHeader header, std::string_view payload);

enum class BlockCheck {
  kOk,
  kShort,    // `bytes` ends before the block does
  kDamaged,  // what is there is not a block
};
// Looks at the header alone.
BlockCheck ParseBlockHeader(std::string_view bytes, BlockHeader* header);
// Looks at header, checksum, and that the payload is exactly message_count messages.
BlockCheck ParseBlock(std::string_view bytes, BlockHeader* header);

// Whether an intact header of a block that starts a commit lies anywhere in `bytes`: the proof that
// what is before it was once durable.
bool HoldsCommitStart(std::string_view bytes);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_STORE_BLOCK_H_
