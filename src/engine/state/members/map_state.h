// MapState, SetState and MultimapState: entries per key and window, in the order of their keys.
#ifndef HORNBEAM_ENGINE_STATE_MEMBERS_MAP_STATE_H_
#define HORNBEAM_ENGINE_STATE_MEMBERS_MAP_STATE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/state/members/keyed_state.h"

namespace hornbeam::engine {

// Pointers and references that it gives hold until the next write or the end of the call.
template <typename K, typename V>
class MapState final : public KeyedState<K, V> {
 public:
  explicit MapState(std::string name) : KeyedState<K, V>(std::move(name)) {}

  size_t size() const { return this->entries().size(); }
  bool Contains(const K& key) const { return Get(key) != nullptr; }
  // Null where there is none.
  const V* Get(const K& key) const { return this->FindValue(key); }
  V GetOr(const K& key, V fallback) const {
    const V* const value = Get(key);
    return value != nullptr ? *value : std::move(fallback);
  }
  void Put(K key, V value) { this->PutValue(std::move(key), std::move(value)); }
  // What was there before, which then stays; null where the value was put.
  const V* PutIfAbsent(const K& key, V value) {
    if (const V* const there = Get(key)) return there;
    Put(key, std::move(value));
    return nullptr;
  }
  // Whether there was one.
  bool Remove(const K& key) { return this->RemoveKey(key); }
  // visit(key, value), which must not change the map.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [key, entry] : this->entries()) visit(key, entry.value);
  }
};

// A value that says nothing but that it is there.
struct Present {
  friend bool operator==(Present, Present) = default;
};

template <typename T>
class SetState final : public KeyedState<T, Present> {
 public:
  explicit SetState(std::string name) : KeyedState<T, Present>(std::move(name)) {}

  size_t size() const { return this->entries().size(); }
  bool Contains(const T& value) const { return this->FindValue(value) != nullptr; }
  // Whether it was not there.
  bool Add(T value) {
    if (Contains(value)) return false;
    this->PutValue(std::move(value), {});
    return true;
  }
  bool Remove(const T& value) { return this->RemoveKey(value); }
  std::vector<T> Read() const {
    std::vector<T> all;
    for (const auto& [value, entry] : this->entries()) all.push_back(value);
    return all;
  }
};

// The values of a key are in the order in which they were put. A key whose values have changed is logged with all of them.
template <typename K, typename V>
class MultimapState final : public KeyedState<K, std::vector<V>> {
 public:
  explicit MultimapState(std::string name) : KeyedState<K, std::vector<V>>(std::move(name)) {}

  bool Contains(const K& key) const { return this->FindValue(key) != nullptr; }
  const std::vector<V>& Get(const K& key) const {
    static const std::vector<V>* const kNone = new std::vector<V>;
    const std::vector<V>* const values = this->FindValue(key);
    return values != nullptr ? *values : *kNone;
  }
  void Put(const K& key, V value) { this->AppendValue(key, std::move(value)); }
  // All values of the key; whether there was one.
  bool Remove(const K& key) { return this->RemoveKey(key); }
  // visit(key, values), which must not change the map.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [key, entry] : this->entries()) visit(key, entry.value);
  }
};

}  // namespace hornbeam::engine

template <>
struct hornbeam::model::Coder<hornbeam::engine::Present> {
  static void Encode(hornbeam::engine::Present, std::string*) {}
  static bool Decode(ByteReader& in, hornbeam::engine::Present*) { return in.ok(); }
};

#endif  // HORNBEAM_ENGINE_STATE_MEMBERS_MAP_STATE_H_
