// The cells of one (window, slice): a dense array of entries in the order in which their keys came, and an index over it.
//
// Dense, so that a firing or a snapshot runs through memory in order and its result does not depend on hashing. A slot of the
// index is 8 bytes with 32 bits of the hash in it, so that a look-up touches one entry and growing touches none. The hash
// is the exchange's: nothing is hashed here.
#ifndef HORNBEAM_ENGINE_STATE_KEY_TABLE_H_
#define HORNBEAM_ENGINE_STATE_KEY_TABLE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "model/key_hash.h"

namespace hornbeam::engine {

// Single-threaded. At most 2^31 keys. REQUIRES: the hash given with a key is always the same.
template <typename K, typename Cell>
class KeyTable {
 public:
  struct Entry {
    K key;
    Cell cell;
  };

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::vector<Entry>& entries() { return entries_; }
  // Without what keys and cells have allocated themselves.
  size_t size_bytes() const { return entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(Slot); }
  Entry& operator[](size_t position) { return entries_[position]; }

  // The position of the key's entry; made, with an empty cell, when there was none. Positions hold for good,
  // references until the next FindOrAdd. Entries go only with the whole table.
  size_t FindOrAdd(const model::KeyHash& hash, const K& key) {
    if ((entries_.size() + 1) * 4 > slots_.size() * 3) Grow();
    const uint32_t bits = Bits(hash);
    for (size_t at = bits & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.position == kFree) {
        slot = {static_cast<uint32_t>(entries_.size()), bits};
        MakeRoom();
        entries_.push_back({key, Cell{}});
        return slot.position;
      }
      if (slot.bits == bits && entries_[slot.position].key == key) return slot.position;
    }
  }

  // The position of the key whose 128-bit hash this is; `hash_of` hashes a key. size() when there is none.
  template <typename HashOf>
  size_t Find(const model::KeyHash& hash, HashOf hash_of) const {
    if (slots_.empty()) return size();
    for (size_t at = Bits(hash) & mask_; slots_[at].position != kFree; at = (at + 1) & mask_) {
      if (slots_[at].bits == Bits(hash) && hash_of(entries_[slots_[at].position].key) == hash) return slots_[at].position;
    }
    return size();
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint32_t position = kFree;
    uint32_t bits = 0;
  };
  // The slice is taken from the high half, so these bits differ within a slice.
  static uint32_t Bits(const model::KeyHash& hash) { return static_cast<uint32_t>(hash.low); }

  // By a quarter at a time: a table is a small part of an operator's state, so copying it costs little, and what stands empty
  // counts for all of them.
  void MakeRoom() {
    if (entries_.size() < entries_.capacity()) return;
    entries_.reserve(entries_.size() < 16 ? 2 * entries_.size() + 2 : entries_.size() + entries_.size() / 4);
  }

  void Grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 8 : old.size() * 2, Slot{});
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.position == kFree) continue;
      size_t at = slot.bits & mask_;
      while (slots_[at].position != kFree) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_KEY_TABLE_H_
