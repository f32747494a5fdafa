// What a Storage Write sink remembers across a crash: for each shard its stream, and the delivery
// that was begun last.
#ifndef HORNBEAM_CONNECTORS_BIGQUERY_SINK_STATE_H_
#define HORNBEAM_CONNECTORS_BIGQUERY_SINK_STATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/epoch/ids.h"

namespace hornbeam::connectors {

// The rows of a delivery are numbered from 0 in the order in which the epoch holds them. Of these,
// the first `settled` are known to be dealt with and are not in `stream`; of the others all but
// `refused` go to `stream`, from `offset` on. Thus everything that a request says follows from what
// is saved here, and a delivery that is made again makes the same requests.
struct ShardState {
  std::string stream;  // empty: none yet
  engine::EpochId epoch = 0;
  int64_t offset = 0;
  uint64_t rows = 0;
  uint64_t settled = 0;
  std::vector<uint64_t> refused;  // ascending
  // So many rows of the deliveries that come next are in an earlier stream already: they were sent
  // before a crash that made forget it, and the stream has ended since.
  int64_t ahead = 0;

  // How many of the rows in [begin, end) go to `stream`; settled <= begin.
  int64_t Kept(uint64_t begin, uint64_t end) const;
  // Where the next delivery begins.
  int64_t end_offset() const { return offset + Kept(settled, rows); }
  bool IsRefused(uint64_t row) const;
};

struct SinkState {
  // No row of a later epoch was sent before a greater one was saved: what a crash makes forget
  // about earlier ones follows from their rows, and what is found of later ones is not ours.
  engine::EpochId horizon = 0;
  std::map<uint32_t, ShardState> shards;

  std::string Encode() const;
  // DATA_LOSS when malformed. Empty text is the state of a sink that never wrote.
  static StatusOr<SinkState> Decode(std::string_view text);
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_BIGQUERY_SINK_STATE_H_
