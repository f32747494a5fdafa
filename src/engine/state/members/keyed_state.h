// What MapState, SetState, MultimapState and OrderedListState have in common: entries with keys of their own, in the order of these.
//
// The log hears of the entries that have changed; of all of them once that is shorter.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_KEYED_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_KEYED_STATE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "engine/state/state_member.h"
#include "model/coder.h"
#include "model/coder_signature.h"

namespace hornbeam::engine {

// By <; a type without is ordered by its encoding.
template <typename K>
struct StateKeyLess {
  bool operator()(const K& a, const K& b) const {
    if constexpr (requires { { a < b } -> std::convertible_to<bool>; }) {
      return a < b;
    } else {
      std::string x, y;
      model::Coder<K>::Encode(a, &x);
      model::Coder<K>::Encode(b, &y);
      return x < y;
    }
  }
};

template <typename K, typename V>
struct KeyedSlot {
  struct Entry {
    V value{};
    bool changed = false;  // its key is among `changed`
  };
  using Entries = absl::btree_map<K, Entry, StateKeyLess<K>>;

  Entries entries;
  std::vector<K> changed;  // since the last log; some perhaps twice, some perhaps not after all
  bool replaced = false;   // the log needs all of it
};

template <typename K, typename V>
class KeyedState : public StateMemberOf<KeyedSlot<K, V>> {
 protected:
  using Slot = KeyedSlot<K, V>;
  using Entry = typename Slot::Entry;

  explicit KeyedState(std::string name) : StateMemberOf<Slot>(std::move(name)) {}

 public:
  bool IsEmpty() const { return this->at_hand().entries.empty(); }
  void Clear() {
    Slot& at = this->at_hand();
    this->Touch();
    undo_.push_back({.kind = Undo::Kind::kAll, .all = std::move(at.entries)});
    at.entries.clear();
    at.replaced = true;
    at.changed.clear();
  }

  std::string type() const final {
    return "keyed<" + model::CoderSignature<K>() + "," + model::CoderSignature<V>() + ">";
  }
  bool Commit(void* slot) final {
    undo_.clear();
    return !static_cast<Slot*>(slot)->entries.empty();
  }
  // What the log is to hear of is not taken back: it then hears that there is nothing new.
  void Rollback(void* slot) final {
    Slot& at = *static_cast<Slot*>(slot);
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
      switch (undo->kind) {
        case Undo::Kind::kErase: at.entries.erase(*undo->key); break;
        case Undo::Kind::kPut: at.entries.insert_or_assign(std::move(*undo->key), Entry{std::move(*undo->value), false}); break;
        case Undo::Kind::kShrink: Shrink(&at.entries.find(*undo->key)->second.value, undo->size); break;
        case Undo::Kind::kAll: at.entries = std::move(undo->all); break;
      }
    }
    undo_.clear();
  }

  // Whether it replaces (1 byte), a count, and so many entries: a key, whether it is there (1 byte), its value.
  void LogAll(void* slot, std::string* out) const final {
    Slot& at = *static_cast<Slot*>(slot);
    out->push_back(1);
    PutVarint(out, at.entries.size());
    for (auto& [key, entry] : at.entries) LogEntry(key, &entry, out);
    at.changed.clear();
    at.replaced = false;
  }
  void LogChanges(void* slot, std::string* out) const final {
    Slot& at = *static_cast<Slot*>(slot);
    if (at.replaced) return LogAll(slot, out);
    out->push_back(0);
    PutVarint(out, at.changed.size());
    for (const K& key : at.changed) {
      const auto entry = at.entries.find(key);
      LogEntry(key, entry == at.entries.end() ? nullptr : &entry->second, out);
    }
    at.changed.clear();
  }
  bool Restore(void* slot, bool all, ByteReader& in, bool* filled) final {
    Slot& at = *static_cast<Slot*>(slot);
    if (in.Byte() != 0) at.entries.clear();
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
      K key;
      if (!model::Coder<K>::Decode(in, &key)) return false;
      if (in.Byte() == 0) {
        at.entries.erase(key);
        continue;
      }
      Entry& entry = at.entries[std::move(key)];
      if (!model::Coder<V>::Decode(in, &entry.value)) return false;
    }
    *filled = !at.entries.empty();
    return in.ok();
  }

 protected:
  const typename Slot::Entries& entries() const { return this->at_hand().entries; }
  const V* FindValue(const K& key) const {
    const auto& all = entries();
    const auto at = all.find(key);
    return at == all.end() ? nullptr : &at->second.value;
  }
  void PutValue(K key, V value) {
    Slot& at = this->at_hand();
    this->Touch();
    const auto [entry, is_new] = at.entries.try_emplace(std::move(key));
    if (is_new) {
      undo_.push_back({.kind = Undo::Kind::kErase, .key = entry->first});
    } else {
      undo_.push_back({.kind = Undo::Kind::kPut, .key = entry->first, .value = std::move(entry->second.value)});
    }
    entry->second.value = std::move(value);
    NoteChanged(at, entry->first, &entry->second);
  }
  // To a list that it makes where there is none.
  template <typename Element>
  void AppendValue(const K& key, Element element) {
    Slot& at = this->at_hand();
    this->Touch();
    const auto [entry, is_new] = at.entries.try_emplace(key);
    std::vector<Element>& list = entry->second.value;
    if (is_new) {
      undo_.push_back({.kind = Undo::Kind::kErase, .key = key});
    } else {
      undo_.push_back({.kind = Undo::Kind::kShrink, .key = key, .size = list.size()});
    }
    list.push_back(std::move(element));
    NoteChanged(at, key, &entry->second);
  }
  bool RemoveKey(const K& key) {
    Slot& at = this->at_hand();
    const auto entry = at.entries.find(key);
    if (entry == at.entries.end()) return false;
    this->Touch();
    undo_.push_back({.kind = Undo::Kind::kPut, .key = key, .value = std::move(entry->second.value)});
    at.entries.erase(entry);
    NoteChanged(at, key, nullptr);
    return true;
  }

 private:
  struct Undo {
    enum class Kind { kErase, kPut, kShrink, kAll };
    Kind kind;
    std::optional<K> key{};
    std::optional<V> value{};
    size_t size = 0;
    typename Slot::Entries all{};
  };

  static void Shrink(V* value, size_t size) {
    if constexpr (requires { value->erase(value->begin(), value->end()); }) {
      value->erase(value->begin() + static_cast<std::ptrdiff_t>(size), value->end());
    }
  }

  static void NoteChanged(Slot& at, const K& key, Entry* entry) {
    if (at.replaced || (entry != nullptr && entry->changed)) return;
    if (at.changed.size() > at.entries.size() + 16) {
      at.replaced = true;
      at.changed.clear();
      return;
    }
    if (entry != nullptr) entry->changed = true;
    at.changed.push_back(key);
  }
  static void LogEntry(const K& key, Entry* entry, std::string* out) {
    model::Coder<K>::Encode(key, out);
    out->push_back(entry != nullptr ? 1 : 0);
    if (entry == nullptr) return;
    model::Coder<V>::Encode(entry->value, out);
    entry->changed = false;
  }

  std::vector<Undo> undo_;  // of the call under way, the first change first
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_KEYED_STATE_H_
