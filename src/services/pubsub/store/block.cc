#include "services/pubsub/store/block.h"

#include "base/bytes.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr std::string_view kSegmentMagic = "HBPSEG01";
constexpr std::string_view kBlockMagic = "HBLK";
constexpr uint32_t kFlagStartsCommit = 1;

}  // namespace

void AppendSegmentHeader(std::string* out, Seq first_seq) {
  const size_t start = out->size();
  out->append(kSegmentMagic);
  PutFixed64(out, first_seq);
  PutFixed32(out, Checksum(std::string_view(*out).substr(start)));
  PutFixed32(out, 0);
}

bool CheckSegmentHeader(std::string_view bytes, Seq first_seq) {
  if (bytes.size() < kSegmentHeaderBytes) return false;
  std::string expected;
  AppendSegmentHeader(&expected, first_seq);
  return bytes.substr(0, kSegmentHeaderBytes) == expected;
}

void AppendBlock(std::string* out, BlockHeader header, std::string_view payload) {
  std::string fields;
  fields.reserve(kBlockHeaderBytes);
  PutFixed32(&fields, Checksum(payload));
  PutFixed32(&fields, static_cast<uint32_t>(payload.size()));
  PutFixed32(&fields, header.message_count);
  PutFixed32(&fields, header.starts_commit ? kFlagStartsCommit : 0);
  PutFixed64(&fields, header.first_seq);
  PutFixed64(&fields, header.first_message_id);
  PutFixed64(&fields, static_cast<uint64_t>(header.publish_time_us));
  out->append(kBlockMagic);
  PutFixed32(out, Checksum(fields));
  out->append(fields);
  out->append(payload);
}

BlockCheck ParseBlockHeader(std::string_view bytes, BlockHeader* header) {
  if (bytes.size() < kBlockHeaderBytes) return BlockCheck::kShort;
  if (bytes.substr(0, kBlockMagic.size()) != kBlockMagic) return BlockCheck::kDamaged;
  ByteReader reader(bytes.substr(kBlockMagic.size(), kBlockHeaderBytes - kBlockMagic.size()));
  if (reader.Fixed32() != Checksum(bytes.substr(8, kBlockHeaderBytes - 8)))
    return BlockCheck::kDamaged;
  header->payload_checksum = reader.Fixed32();
  header->payload_bytes = reader.Fixed32();
  header->message_count = reader.Fixed32();
  header->starts_commit = (reader.Fixed32() & kFlagStartsCommit) != 0;
  header->first_seq = reader.Fixed64();
  header->first_message_id = reader.Fixed64();
  header->publish_time_us = static_cast<int64_t>(reader.Fixed64());
  if (header->payload_bytes > kMaxBlockPayloadBytes || header->message_count == 0)
    return BlockCheck::kDamaged;
  return BlockCheck::kOk;
}

BlockCheck ParseBlock(std::string_view bytes, BlockHeader* header) {
  if (const BlockCheck check = ParseBlockHeader(bytes, header); check != BlockCheck::kOk)
    return check;
  if (bytes.size() < header->total_bytes()) return BlockCheck::kShort;
  const std::string_view payload = bytes.substr(kBlockHeaderBytes, header->payload_bytes);
  if (Checksum(payload) != header->payload_checksum) return BlockCheck::kDamaged;
  ByteReader reader(payload);
  for (uint32_t i = 0; i < header->message_count && reader.ok(); ++i) reader.Bytes();
  return reader.ok() && reader.done() ? BlockCheck::kOk : BlockCheck::kDamaged;
}

bool HoldsCommitStart(std::string_view bytes) {
  for (size_t at = bytes.find(kBlockMagic); at != std::string_view::npos;
       at = bytes.find(kBlockMagic, at + 1)) {
    BlockHeader header;
    if (ParseBlockHeader(bytes.substr(at), &header) == BlockCheck::kOk && header.starts_commit)
      return true;
  }
  return false;
}

}  // namespace hornbeam::services::pubsub
