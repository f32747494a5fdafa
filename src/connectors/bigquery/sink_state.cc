#include "connectors/bigquery/sink_state.h"

#include <algorithm>

#include "base/bytes.h"

namespace hornbeam::connectors {
namespace {

constexpr uint8_t kVersion = 1;

}  // namespace

int64_t ShardState::Kept(uint64_t begin, uint64_t end) const {
  const auto from = std::lower_bound(refused.begin(), refused.end(), begin);
  const auto to = std::lower_bound(from, refused.end(), end);
  return static_cast<int64_t>(end - begin) - (to - from);
}

bool ShardState::IsRefused(uint64_t row) const {
  return std::binary_search(refused.begin(), refused.end(), row);
}

std::string SinkState::Encode() const {
  std::string out(1, static_cast<char>(kVersion));
  PutVarint(&out, horizon);
  PutVarint(&out, shards.size());
  for (const auto& [number, shard] : shards) {
    PutVarint(&out, number);
    PutBytes(&out, shard.stream);
    PutVarint(&out, shard.epoch);
    PutVarint(&out, static_cast<uint64_t>(shard.offset));
    PutVarint(&out, shard.rows);
    PutVarint(&out, shard.settled);
    PutVarint(&out, static_cast<uint64_t>(shard.ahead));
    PutVarint(&out, shard.refused.size());
    uint64_t last = 0;
    for (const uint64_t row : shard.refused) {
      PutVarint(&out, row - last);
      last = row;
    }
  }
  return out;
}

StatusOr<SinkState> SinkState::Decode(std::string_view text) {
  SinkState state;
  if (text.empty()) return state;
  ByteReader in(text);
  const bool known = in.Byte() == kVersion;
  state.horizon = in.Varint();
  for (uint64_t left = in.Varint(); known && left > 0 && in.ok(); --left) {
    ShardState& shard = state.shards[static_cast<uint32_t>(in.Varint())];
    shard.stream.assign(in.Bytes());
    shard.epoch = in.Varint();
    shard.offset = static_cast<int64_t>(in.Varint());
    shard.rows = in.Varint();
    shard.settled = in.Varint();
    shard.ahead = static_cast<int64_t>(in.Varint());
    uint64_t row = 0;
    for (uint64_t refused = in.Varint(); refused > 0 && in.ok(); --refused) {
      row += in.Varint();
      shard.refused.push_back(row);
    }
    if (shard.settled > shard.rows || shard.offset < 0 || shard.ahead < 0) break;
  }
  if (!known || !in.ok() || !in.done()) {
    return absl::DataLossError(
        "the saved state of the BigQuery sink is malformed, or of another version of hornbeam");
  }
  return state;
}

}  // namespace hornbeam::connectors
