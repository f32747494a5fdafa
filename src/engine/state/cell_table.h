// The cells of one (window, slice): an index by the hash of their keys over cells that stay where they are.
//
// Unlike KeyTable, cells go one by one, and what a cell holds is known at run time only (CellLayout). The hash is the
// exchange's: nothing is hashed here.
#ifndef HORNBEAM_ENGINE_STATE_CELL_TABLE_H_
#define HORNBEAM_ENGINE_STATE_CELL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/state/cell.h"
#include "model/key_hash.h"

namespace hornbeam::engine {

// Single-threaded. REQUIRES: the hash given with a key is always the same. Pointers to cells hold until they are
// dropped or freed.
class CellTable {
 public:
  explicit CellTable(const CellLayout* layout) : layout_(*layout) {}
  CellTable(const CellTable&) = delete;
  ~CellTable();

  // The key's cell, made where there was none; *is_new tells. The key is copied.
  Cell* FindOrAdd(const model::KeyHash& hash, const void* key, bool* is_new) {
    if ((size_ + 1) * 4 > slots_.size() * 3) Grow();
    for (size_t at = hash.low & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.cell == nullptr) {
        *is_new = true;
        slot = {hash.low, Make(hash, key)};
        ++size_;
        return slot.cell;
      }
      if (slot.low == hash.low && layout_.key().equal(layout_.key_of(slot.cell), key)) return slot.cell;
    }
  }
  // The cell of the key with this 128-bit hash; null when there is none.
  Cell* Find(const model::KeyHash& hash) const;
  void Prefetch(const model::KeyHash& hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash.low & mask_]);
  }

  // Takes the cell out, and destroys it.
  void Drop(Cell* cell);
  // Takes the cell out. It stays as it is, with is_removed set, until FreeRetired.
  void Retire(Cell* cell);
  void FreeRetired();

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Without what keys and members have allocated themselves.
  size_t size_bytes() const { return slots_.capacity() * sizeof(Slot) + size_ * layout_.size_bytes(); }

  // In an order that follows from the keys. `visit` must not add or remove cells.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.cell != nullptr) visit(slot.cell);
    }
  }

  // The same of so many at most.
  template <typename Visit>
  void ForSome(size_t most, Visit visit) const {
    for (size_t at = 0; most > 0 && at < slots_.size(); ++at) {
      if (slots_[at].cell == nullptr) continue;
      visit(slots_[at].cell);
      --most;
    }
  }

 private:
  struct Slot {
    uint64_t low = 0;
    Cell* cell = nullptr;
  };

  Cell* Make(const model::KeyHash& hash, const void* key);
  void Unlink(Cell* cell);
  void Free(Cell* cell);
  void Grow();

  const CellLayout& layout_;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;  // each twice as many cells as the one before, up to a limit
  size_t chunk_cells_ = 0;                            // of the last chunk
  size_t chunk_used_ = 0;
  std::vector<void*> free_;                           // memory of freed cells
  std::vector<Cell*> retired_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_CELL_TABLE_H_
