#include "services/pubsub/store/run.h"

#include <algorithm>

#include "base/bytes.h"

namespace hornbeam::services::pubsub {

std::shared_ptr<const Run> Run::Parse(std::string bytes) {
  std::shared_ptr<Run> run(new Run());
  run->bytes_ = std::move(bytes);
  const std::string_view all = run->bytes_;
  for (size_t at = 0; at < all.size();) {
    BlockHeader header;
    if (ParseBlock(all.substr(at), &header) != BlockCheck::kOk) return nullptr;
    if (!run->blocks_.empty() && header.first_seq != run->end_seq()) return nullptr;
    run->blocks_.push_back(header);
    const std::string_view payload = all.substr(at + kBlockHeaderBytes, header.payload_bytes);
    ByteReader reader(payload);
    for (uint32_t i = 0; i < header.message_count; ++i) {
      run->offsets_.push_back(
          static_cast<uint32_t>(at + kBlockHeaderBytes + payload.size() - reader.remaining()));
      reader.Bytes();
    }
    at += header.total_bytes();
  }
  if (run->blocks_.empty()) return nullptr;
  return run;
}

StoredMessage Run::Get(Seq seq) const {
  const BlockHeader* block = &blocks_.front();
  if (blocks_.size() > 1) {
    auto next = std::upper_bound(blocks_.begin(), blocks_.end(), seq,
                                 [](Seq s, const BlockHeader& b) { return s < b.first_seq; });
    block = &*std::prev(next);
  }
  ByteReader reader(std::string_view(bytes_).substr(offsets_[seq - first_seq()]));
  return {reader.Bytes(), block->first_message_id + (seq - block->first_seq),
          block->publish_time_us};
}

}  // namespace hornbeam::services::pubsub
