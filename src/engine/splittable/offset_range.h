// A range of offsets, and the tracker of how much of it has been claimed (Beam's OffsetRange and OffsetRangeTracker): the restriction of
// most splittable DoFns.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_OFFSET_RANGE_H_
#define HORNBEAM_ENGINE_SPLITTABLE_OFFSET_RANGE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "engine/splittable/progress.h"
#include "model/coder.h"

namespace hornbeam::engine {

// The offsets from `from` up to, but not, `to`. One that never ends goes to kEndless.
struct OffsetRange {
  static constexpr int64_t kEndless = INT64_MAX;

  int64_t from = 0;
  int64_t to = 0;

  bool empty() const { return to <= from; }
  // Parts of `size` offsets, and a last one with what is left. REQUIRES: size > 0; the range is not endless.
  std::vector<OffsetRange> Split(int64_t size) const;

  friend auto operator<=>(const OffsetRange&, const OffsetRange&) = default;
};
HORNBEAM_CODER(OffsetRange, from, to);

class OffsetRangeTracker {
 public:
  using Restriction = OffsetRange;
  using Position = int64_t;

  explicit OffsetRangeTracker(OffsetRange range) : range_(range) {}

  // Offsets are claimed in ascending order. False where the offset lies beyond the range: then nothing more is claimed. Throws
  // std::invalid_argument for one that does not ascend or lies before the range: the DoFn has a mistake.
  bool TryClaim(int64_t offset);

  // Keeps what has been claimed and `fraction` of the rest, at least one offset if one has been asked for; what is cut off, or nothing
  // where there is nothing to cut off.
  std::optional<OffsetRange> TrySplit(double fraction);

  const OffsetRange& restriction() const { return range_; }
  // FAILED_PRECONDITION while offsets of the range have not been claimed.
  Status CheckDone() const;
  Progress GetProgress() const;
  bool is_bounded() const { return range_.to != OffsetRange::kEndless; }

 private:
  OffsetRange range_;
  std::optional<int64_t> last_attempted_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_OFFSET_RANGE_H_
