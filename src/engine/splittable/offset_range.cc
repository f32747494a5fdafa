#include "engine/splittable/offset_range.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace hornbeam::engine {

std::vector<OffsetRange> OffsetRange::Split(int64_t size) const {
  std::vector<OffsetRange> parts;
  for (int64_t start = from; start < to;) {
    const int64_t end = to - start > size ? start + size : to;
    parts.push_back({start, end});
    start = end;
  }
  return parts;
}

bool OffsetRangeTracker::TryClaim(int64_t offset) {
  if (offset < range_.from || (last_attempted_ && offset <= *last_attempted_)) {
    throw std::invalid_argument(absl::StrCat("offset ", offset, " was claimed where ", last_attempted_ ? *last_attempted_ + 1 : range_.from,
                                             " or a later one can be"));
  }
  last_attempted_ = offset;
  return offset < range_.to;
}

std::optional<OffsetRange> OffsetRangeTracker::TrySplit(double fraction) {
  // The offset behind what is taken; without overflow, also of an endless range.
  const int64_t next = last_attempted_ ? *last_attempted_ + 1 : range_.from;
  if (next >= range_.to) return std::nullopt;
  const double rest = static_cast<double>(range_.to) - static_cast<double>(next);
  const double kept = std::clamp(fraction, 0.0, 1.0) * rest;
  if (kept >= rest) return std::nullopt;
  const int64_t cut = next + static_cast<int64_t>(kept);
  if (cut >= range_.to) return std::nullopt;
  const OffsetRange residual{cut, range_.to};
  range_.to = cut;
  return residual;
}

Status OffsetRangeTracker::CheckDone() const {
  if (range_.empty() || (last_attempted_ && *last_attempted_ >= range_.to - 1)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("offsets ", last_attempted_ ? *last_attempted_ + 1 : range_.from, " to ", range_.to - 1,
                                                    " were not claimed: return only after TryClaim was false, or Resume"));
}

Progress OffsetRangeTracker::GetProgress() const {
  const double next = static_cast<double>(last_attempted_ ? *last_attempted_ + 1 : range_.from);
  const double completed = next - static_cast<double>(range_.from);
  return {completed, std::max(0.0, static_cast<double>(range_.to) - next)};
}

}  // namespace hornbeam::engine
