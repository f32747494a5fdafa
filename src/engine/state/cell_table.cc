#include "engine/state/cell_table.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace hornbeam::engine {
namespace {

constexpr size_t kFirstChunkCells = 4;
constexpr size_t kMostChunkCells = 1024;

}  // namespace

CellTable::~CellTable() {
  ForEach([this](Cell* cell) { layout_.Destroy(cell); });
  for (Cell* const cell : retired_) layout_.Destroy(cell);
}

Cell* CellTable::Find(const model::KeyHash& hash) const {
  if (slots_.empty()) return nullptr;
  for (size_t at = hash.low & mask_; slots_[at].cell != nullptr; at = (at + 1) & mask_) {
    if (slots_[at].cell->hash == hash) return slots_[at].cell;
  }
  return nullptr;
}

Cell* CellTable::Make(const model::KeyHash& hash, const void* key) {
  void* memory = nullptr;
  if (!free_.empty()) {
    memory = free_.back();
    free_.pop_back();
  } else {
    if (chunk_used_ == chunk_cells_) {
      chunk_cells_ = std::clamp(chunk_cells_ * 2, kFirstChunkCells, kMostChunkCells);
      chunk_used_ = 0;
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_cells_ * layout_.size_bytes()));
    }
    memory = chunks_.back().get() + chunk_used_++ * layout_.size_bytes();
  }
  return layout_.Construct(memory, hash, key);
}

// What stands behind the gap and may stand in it moves up, so that no search ends too early.
void CellTable::Unlink(Cell* cell) {
  size_t gap = cell->hash.low & mask_;
  while (slots_[gap].cell != cell) gap = (gap + 1) & mask_;
  for (size_t at = (gap + 1) & mask_; slots_[at].cell != nullptr; at = (at + 1) & mask_) {
    const size_t home = slots_[at].low & mask_;
    if (((at - home) & mask_) < ((at - gap) & mask_)) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = {};
  --size_;
}

void CellTable::Drop(Cell* cell) {
  Unlink(cell);
  Free(cell);
}

void CellTable::Retire(Cell* cell) {
  Unlink(cell);
  cell->is_removed = true;
  retired_.push_back(cell);
}

void CellTable::FreeRetired() {
  for (Cell* const cell : retired_) Free(cell);
  retired_.clear();
}

void CellTable::Free(Cell* cell) {
  layout_.Destroy(cell);
  free_.push_back(cell);
}

void CellTable::Grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.empty() ? 8 : old.size() * 2, Slot{});
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.cell == nullptr) continue;
    size_t at = slot.low & mask_;
    while (slots_[at].cell != nullptr) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

}  // namespace hornbeam::engine
