// Knows which units still need which segments of the job log.
#ifndef HORNBEAM_ENGINE_EPOCH_LIVE_INDEX_H_
#define HORNBEAM_ENGINE_EPOCH_LIVE_INDEX_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/epoch/ids.h"
#include "engine/epoch/segment_scan.h"

namespace hornbeam::engine {

// Pure bookkeeping, no I/O; not thread-safe. Everything is told in log order. Keeps the payloads of
// live notes in memory: they are decisions, few and small.
class LiveIndex {
 public:
  void AddRecord(const RecordSummary& record);
  // No payloads: the unit has no notes any more.
  void AddNotes(UnitKey key, bool replaces, const std::vector<std::string_view>& payloads,
                uint64_t segment);
  // Records of `op` in epochs before `epoch` are void. Marks only grow. Works on what a segment
  // holds of a unit, so bytes count as live until the last of them in the segment are void.
  void RetainFrom(OperatorId op, EpochId epoch);

  // Bytes of records and notes that are not void.
  uint64_t live_bytes() const { return live_bytes_; }
  // Of these, what rewriting is not known to make less: notes, records that replace, and records that go by themselves. What a unit
  // has had appended since it was last written as a whole may be state that has long gone (a window put and dropped again), and
  // nobody knows until it is rewritten.
  uint64_t compact_bytes() const { return live_bytes_ - appended_bytes_; }
  // The oldest segment that something live is in, or `newest`.
  uint64_t FirstNeededSegment(uint64_t newest) const;
  // Units whose rewriting frees the oldest segments, in that order, until their live bytes reach
  // `budget_bytes` (one unit at least). Stops before a unit of an operator with a RetainFrom mark:
  // it goes by itself or not at all, and rewriting what is younger would free nothing. Only units
  // with something older than `newest`.
  std::vector<UnitKey> OldestUnits(uint64_t newest, uint64_t budget_bytes) const;

  // A unit's live notes, to be written again as one frame that replaces.
  struct LiveNotes {
    UnitKey key;
    std::vector<std::string> payloads;
  };
  std::vector<LiveNotes> NotesIn(uint64_t segment) const;

 private:
  // What one segment holds of one unit.
  struct Extent {
    uint64_t segment = 0;
    EpochId last_epoch = 0;
    uint64_t size_bytes = 0;
  };
  struct Unit {
    std::vector<Extent> extents;  // oldest first
    uint64_t appended_bytes = 0;  // since the record that replaced; 0 where the operator has a RetainFrom mark
  };
  struct Operator {
    absl::flat_hash_map<uint32_t, Unit> units;
    EpochId retain_from = 0;
  };
  struct Notes {
    uint64_t first_segment = 0;
    std::vector<std::string> payloads;
    uint64_t size_bytes = 0;
  };

  void Release(const Extent& extent);
  void ForgetAppended(Unit* unit);
  void Hold(uint64_t segment) { ++holders_[segment]; }
  void Drop(uint64_t segment);

  absl::flat_hash_map<OperatorId, Operator> operators_;
  absl::flat_hash_map<UnitKey, Notes> notes_;
  std::map<uint64_t, size_t> holders_;  // segment -> extents and note lists in it; never zero
  uint64_t live_bytes_ = 0;
  uint64_t appended_bytes_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_LIVE_INDEX_H_
