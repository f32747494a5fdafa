// The state of one key in one window, as an operator with declared state keeps it: a header, the key, and a slot for each
// state and timer that the DoFn declares, one after another in one piece of memory whose layout is made once.
#ifndef HORNBEAM_ENGINE_STATE_CELL_H_
#define HORNBEAM_ENGINE_STATE_CELL_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/coder.h"
#include "model/key_hash.h"

namespace hornbeam::engine {

class StateMember;

// What a table of cells has to know of the type of its keys.
struct KeyType {
  size_t size;
  size_t align;
  void (*copy)(void* to, const void* from);  // constructs
  void (*destroy)(void* key);
  bool (*equal)(const void* a, const void* b);
  void (*encode)(const void* key, std::string* out);
  void* (*decode)(ByteReader& in);  // a key on the heap; null where the bytes are not of one
  void (*free)(void* decoded);
  model::KeyHash (*hash)(const void* key);
};

template <typename K>
const KeyType* KeyTypeOf() {
  static constexpr KeyType kType{
      .size = sizeof(K),
      .align = alignof(K),
      .copy = [](void* to, const void* from) { new (to) K(*static_cast<const K*>(from)); },
      .destroy = [](void* key) { static_cast<K*>(key)->~K(); },
      .equal = [](const void* a, const void* b) { return *static_cast<const K*>(a) == *static_cast<const K*>(b); },
      .encode = [](const void* key, std::string* out) { model::Coder<K>::Encode(*static_cast<const K*>(key), out); },
      .decode = [](ByteReader& in) -> void* {
        auto* const key = new K();
        if (model::Coder<K>::Decode(in, key)) return key;
        delete key;
        return nullptr;
      },
      .free = [](void* decoded) { delete static_cast<K*>(decoded); },
      .hash = [](const void* key) { return model::HashKey(*static_cast<const K*>(key)); },
  };
  return &kType;
}

// The head of a cell. Bit i of the masks is the member number i.
struct Cell {
  model::KeyHash hash;
  uint64_t filled = 0;      // members that hold something
  uint64_t changed = 0;     // members of whose changes the log has not heard
  bool is_listed = false;   // among those that the log has to hear of
  bool is_logged = false;   // the log has it
  bool is_removed = false;  // no longer in its table
  bool has_copy = false;    // the cold store has one, of this cell or of what it was
  bool is_copied = false;   // and it is the same
};

// Where things lie in a cell. Immutable once made; outlives the cells.
class CellLayout {
 public:
  static constexpr size_t kMostMembers = 63;

  // At most kMostMembers; pointers hold as long as the layout.
  CellLayout(const KeyType* key, std::vector<StateMember*> members);

  const KeyType& key() const { return *key_; }
  const std::vector<StateMember*>& members() const { return members_; }
  // Names and types of the members, as the log has them: a count, and for each its name and the checksum of its type.
  const std::string& declaration() const { return declaration_; }
  size_t size_bytes() const { return size_; }
  const void* key_of(const Cell* cell) const { return reinterpret_cast<const std::byte*>(cell) + key_offset_; }
  void* slot(Cell* cell, size_t member) const { return reinterpret_cast<std::byte*>(cell) + offsets_[member]; }

  // In memory of size_bytes() that is aligned for anything.
  Cell* Construct(void* memory, const model::KeyHash& hash, const void* key) const;
  void Destroy(Cell* cell) const;

 private:
  const KeyType* const key_;
  const std::vector<StateMember*> members_;
  std::vector<size_t> offsets_;
  std::string declaration_;
  size_t key_offset_ = 0;
  size_t size_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_CELL_H_
