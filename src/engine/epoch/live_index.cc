#include "engine/epoch/live_index.h"

#include <algorithm>
#include <tuple>

#include "base/status.h"

namespace hornbeam::engine {

void LiveIndex::AddRecord(const RecordSummary& record) {
  Operator& op = operators_[record.key.op];
  if (record.replaces) {
    const auto found = op.units.find(record.key.unit);
    if (found != op.units.end()) {
      for (const Extent& extent : found->second.extents) Release(extent);
      found->second.extents.clear();
      ForgetAppended(&found->second);
      if (record.ends) op.units.erase(found);
    }
    if (record.ends) return;
  }
  if (record.epoch < op.retain_from) return;
  Unit& unit = op.units[record.key.unit];
  const uint64_t segment = record.position.segment;
  if (unit.extents.empty() || unit.extents.back().segment != segment) {
    unit.extents.push_back({.segment = segment});
    Hold(segment);
  }
  unit.extents.back().last_epoch = record.epoch;
  unit.extents.back().size_bytes += record.size_bytes;
  live_bytes_ += record.size_bytes;
  if (record.replaces || op.retain_from > 0) return;
  unit.appended_bytes += record.size_bytes;
  appended_bytes_ += record.size_bytes;
}

void LiveIndex::AddNotes(UnitKey key, bool replaces, const std::vector<std::string_view>& payloads,
                         uint64_t segment) {
  const auto found = notes_.find(key);
  if (replaces && found != notes_.end()) {
    live_bytes_ -= found->second.size_bytes;
    Drop(found->second.first_segment);
    notes_.erase(found);
  }
  if (payloads.empty()) return;
  const auto [entry, fresh] = notes_.try_emplace(key);
  Notes& notes = entry->second;
  if (fresh) {
    notes.first_segment = segment;
    Hold(segment);
  }
  for (const std::string_view payload : payloads) {
    notes.payloads.emplace_back(payload);
    notes.size_bytes += payload.size();
    live_bytes_ += payload.size();
  }
}

void LiveIndex::RetainFrom(OperatorId op_id, EpochId epoch) {
  Operator& op = operators_[op_id];
  if (epoch <= op.retain_from) return;
  op.retain_from = epoch;
  for (auto& [number, unit] : op.units) {
    ForgetAppended(&unit);
    std::erase_if(unit.extents, [&](const Extent& extent) {
      if (extent.last_epoch >= epoch) return false;
      Release(extent);
      return true;
    });
  }
  absl::erase_if(op.units, [](const auto& unit) { return unit.second.extents.empty(); });
}

uint64_t LiveIndex::FirstNeededSegment(uint64_t newest) const {
  return holders_.empty() ? newest : std::min(newest, holders_.begin()->first);
}

std::vector<UnitKey> LiveIndex::OldestUnits(uint64_t newest, uint64_t budget_bytes) const {
  struct Candidate {
    uint64_t segment;
    UnitKey key;
    uint64_t size_bytes;
    bool goes_by_itself;
  };
  std::vector<Candidate> candidates;
  for (const auto& [op_id, op] : operators_) {
    for (const auto& [number, unit] : op.units) {
      if (unit.extents.front().segment >= newest) continue;
      uint64_t size_bytes = 0;
      for (const Extent& extent : unit.extents) size_bytes += extent.size_bytes;
      candidates.push_back(
          {unit.extents.front().segment, {op_id, number}, size_bytes, op.retain_from > 0});
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    // Within a segment, first those that would make the rest useless.
    return std::tuple(a.segment, !a.goes_by_itself, a.key) <
           std::tuple(b.segment, !b.goes_by_itself, b.key);
  });
  std::vector<UnitKey> oldest;
  uint64_t sum_bytes = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.goes_by_itself) break;
    if (!oldest.empty() && sum_bytes + candidate.size_bytes > budget_bytes) break;
    sum_bytes += candidate.size_bytes;
    oldest.push_back(candidate.key);
  }
  return oldest;
}

std::vector<LiveIndex::LiveNotes> LiveIndex::NotesIn(uint64_t segment) const {
  std::vector<LiveNotes> found;
  for (const auto& [key, notes] : notes_) {
    if (notes.first_segment == segment) found.push_back({key, notes.payloads});
  }
  std::sort(found.begin(), found.end(),
            [](const LiveNotes& a, const LiveNotes& b) { return a.key < b.key; });
  return found;
}

void LiveIndex::Release(const Extent& extent) {
  live_bytes_ -= extent.size_bytes;
  Drop(extent.segment);
}

void LiveIndex::ForgetAppended(Unit* unit) {
  appended_bytes_ -= unit->appended_bytes;
  unit->appended_bytes = 0;
}

void LiveIndex::Drop(uint64_t segment) {
  const auto holder = holders_.find(segment);
  HB_CHECK(holder != holders_.end());
  if (--holder->second == 0) holders_.erase(holder);
}

}  // namespace hornbeam::engine
