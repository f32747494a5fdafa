// Coders of the standard library's containers and sums: float, enums, pair, tuple, array, variant, deque, list, maps and sets.
//
//   pair, tuple, array                one after another, as the fields of a struct
//   variant                           the alternative's number (varint), then the alternative; a monostate is nothing
//   deque, list, sets                 beam:coder:iterable:v1
//   maps                              beam:coder:iterable:v1 of beam:coder:kv:v1
//   enum                              beam:coder:varint:v1
//   float                             4 bytes, big-endian
//
// Containers without an order are written in the order of their entries' bytes, so that equal ones have equal bytes and can be keys.
// What has an order is read in any, as the program's comparison may have changed; an entry that a map or set has already is
// refused. Every value takes at least one byte, so that a count that nobody wrote comes to its end with the input: there is no
// coder of an empty tuple or array.
#ifndef HORNBEAM_MODEL_CONTAINER_CODERS_H_
#define HORNBEAM_MODEL_CONTAINER_CODERS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "model/coder.h"
#include "model/coder_signature.h"

namespace hornbeam::model {

namespace internal {

template <typename T>
void EncodeEntry(const T& entry, std::string* out) {
  Coder<T>::Encode(entry, out);
}
template <typename K, typename V>
void EncodeEntry(const std::pair<const K, V>& entry, std::string* out) {
  Coder<K>::Encode(entry.first, out);
  Coder<V>::Encode(entry.second, out);
}

// A count, then the entries as they come.
template <typename C>
void EncodeInOrder(const C& container, std::string* out) {
  PutBigEndian32(out, static_cast<uint32_t>(container.size()));
  for (const auto& entry : container) EncodeEntry(entry, out);
}

// A count, then the entries by their bytes.
template <typename C>
void EncodeSorted(const C& container, std::string* out) {
  std::vector<std::string> entries;
  entries.reserve(container.size());
  for (const auto& entry : container) EncodeEntry(entry, &entries.emplace_back());
  std::sort(entries.begin(), entries.end());
  PutBigEndian32(out, static_cast<uint32_t>(entries.size()));
  for (const std::string& entry : entries) out->append(entry);
}

template <typename C>
struct SequenceCoder {
  static void Encode(const C& v, std::string* out) { EncodeInOrder(v, out); }
  static bool Decode(ByteReader& in, C* v) {
    v->clear();
    const uint32_t count = BigEndian32(in);
    for (uint32_t i = 0; i < count && in.ok(); ++i) {
      if (!Coder<typename C::value_type>::Decode(in, &v->emplace_back())) return false;
    }
    return in.ok();
  }
};

template <typename C, bool has_order, bool unique>
struct SetCoder {
  static constexpr bool kIsSet = true, kIsUnique = unique;
  static void Encode(const C& v, std::string* out) { has_order ? EncodeInOrder(v, out) : EncodeSorted(v, out); }
  static bool Decode(ByteReader& in, C* v) {
    v->clear();
    const uint32_t count = BigEndian32(in);
    for (uint32_t i = 0; i < count && in.ok(); ++i) {
      typename C::value_type element{};
      if (!Coder<typename C::value_type>::Decode(in, &element)) return false;
      v->insert(v->end(), std::move(element));
      if (unique && v->size() != i + 1) return false;
    }
    return in.ok();
  }
};

template <typename C, bool has_order, bool unique>
struct MapCoder {
  static constexpr bool kIsMap = true, kIsUnique = unique;
  static void Encode(const C& v, std::string* out) { has_order ? EncodeInOrder(v, out) : EncodeSorted(v, out); }
  static bool Decode(ByteReader& in, C* v) {
    v->clear();
    const uint32_t count = BigEndian32(in);
    for (uint32_t i = 0; i < count && in.ok(); ++i) {
      typename C::key_type key{};
      typename C::mapped_type value{};
      if (!Coder<typename C::key_type>::Decode(in, &key) || !Coder<typename C::mapped_type>::Decode(in, &value)) return false;
      v->emplace_hint(v->end(), std::move(key), std::move(value));
      if (unique && v->size() != i + 1) return false;
    }
    return in.ok();
  }
};

// An alternative of a variant: its coder, or nothing for a monostate.
template <typename T>
struct AlternativeCoder : Coder<T> {};
template <>
struct AlternativeCoder<std::monostate> {
  static void Encode(const std::monostate&, std::string*) {}
  static bool Decode(ByteReader& in, std::monostate*) { return in.ok(); }
};
template <typename T>
concept CodableAlternative = Codable<T> || std::same_as<T, std::monostate>;

template <typename... T>
std::string SignatureList() {
  std::string list;
  ((list += (list.empty() ? "" : ",") + CoderSignature<T>()), ...);
  return list;
}

}  // namespace internal

// Single values.

template <>
struct Coder<float> {
  static void Encode(float v, std::string* out) { internal::PutBigEndian32(out, std::bit_cast<uint32_t>(v)); }
  static bool Decode(ByteReader& in, float* v) {
    *v = std::bit_cast<float>(internal::BigEndian32(in));
    return in.ok();
  }
};

template <typename T>
  requires std::is_enum_v<T>
struct Coder<T> {
  static constexpr bool kIsEnumAsVarint = true;
  static void Encode(T v, std::string* out) { PutVarint(out, static_cast<uint64_t>(static_cast<int64_t>(v))); }
  static bool Decode(ByteReader& in, T* v) {
    *v = static_cast<T>(static_cast<std::underlying_type_t<T>>(in.Varint()));
    return in.ok();
  }
};

// Products.

template <typename A, typename B>
  requires Codable<A> && Codable<B>
struct Coder<std::pair<A, B>> {
  static void Encode(const std::pair<A, B>& v, std::string* out) {
    Coder<A>::Encode(v.first, out);
    Coder<B>::Encode(v.second, out);
  }
  static bool Decode(ByteReader& in, std::pair<A, B>* v) {
    return Coder<A>::Decode(in, &v->first) && Coder<B>::Decode(in, &v->second);
  }
};

template <typename First, typename... Rest>
  requires(Codable<First> && ... && Codable<Rest>)
struct Coder<std::tuple<First, Rest...>> {
  using T = std::tuple<First, Rest...>;
  static void Encode(const T& v, std::string* out) {
    std::apply([out](const auto&... field) { (Coder<std::decay_t<decltype(field)>>::Encode(field, out), ...); }, v);
  }
  static bool Decode(ByteReader& in, T* v) {
    return std::apply([&in](auto&... field) { return (Coder<std::decay_t<decltype(field)>>::Decode(in, &field) && ...); }, *v);
  }
};

template <typename E, size_t n>
  requires(Codable<E> && n > 0)
struct Coder<std::array<E, n>> {
  static void Encode(const std::array<E, n>& v, std::string* out) {
    for (const E& element : v) Coder<E>::Encode(element, out);
  }
  static bool Decode(ByteReader& in, std::array<E, n>* v) {
    for (E& element : *v) {
      if (!Coder<E>::Decode(in, &element)) return false;
    }
    return true;
  }
};

// Sums. REQUIRES: alternatives can be made without arguments; what is encoded is not valueless_by_exception.

template <typename... T>
  requires(internal::CodableAlternative<T> && ...)
struct Coder<std::variant<T...>> {
  using V = std::variant<T...>;
  static void Encode(const V& v, std::string* out) {
    PutVarint(out, v.index());
    std::visit([out](const auto& chosen) { internal::AlternativeCoder<std::decay_t<decltype(chosen)>>::Encode(chosen, out); }, v);
  }
  static bool Decode(ByteReader& in, V* v) {
    const uint64_t index = in.Varint();
    if (!in.ok()) return false;
    return DecodeAlternative(in, index, v, std::index_sequence_for<T...>());
  }

 private:
  template <size_t... i>
  static bool DecodeAlternative(ByteReader& in, uint64_t index, V* v, std::index_sequence<i...>) {
    bool good = false;
    ((index == i && (good = internal::AlternativeCoder<std::variant_alternative_t<i, V>>::Decode(in, &v->template emplace<i>()))), ...);
    return good;
  }
};

// Sequences.

template <>
struct Coder<std::vector<bool>> {  // its elements have no address
  static void Encode(const std::vector<bool>& v, std::string* out) { internal::EncodeInOrder(v, out); }
  static bool Decode(ByteReader& in, std::vector<bool>* v) {
    v->clear();
    const uint32_t count = internal::BigEndian32(in);
    for (uint32_t i = 0; i < count && in.ok(); ++i) {
      bool element = false;
      if (!Coder<bool>::Decode(in, &element)) return false;
      v->push_back(element);
    }
    return in.ok();
  }
};

template <typename T, typename A>
  requires Codable<T>
struct Coder<std::deque<T, A>> : internal::SequenceCoder<std::deque<T, A>> {};
template <typename T, typename A>
  requires Codable<T>
struct Coder<std::list<T, A>> : internal::SequenceCoder<std::list<T, A>> {};

// Sets and maps, with and without an order, with and without equal keys.

template <typename T, typename Less, typename A>
  requires Codable<T>
struct Coder<std::set<T, Less, A>> : internal::SetCoder<std::set<T, Less, A>, true, true> {};
template <typename T, typename Less, typename A>
  requires Codable<T>
struct Coder<std::multiset<T, Less, A>> : internal::SetCoder<std::multiset<T, Less, A>, true, false> {};
template <typename T, typename Hash, typename Equal, typename A>
  requires Codable<T>
struct Coder<std::unordered_set<T, Hash, Equal, A>>
    : internal::SetCoder<std::unordered_set<T, Hash, Equal, A>, false, true> {};
template <typename T, typename Hash, typename Equal, typename A>
  requires Codable<T>
struct Coder<std::unordered_multiset<T, Hash, Equal, A>>
    : internal::SetCoder<std::unordered_multiset<T, Hash, Equal, A>, false, false> {};

template <typename K, typename V, typename Less, typename A>
  requires Codable<K> && Codable<V>
struct Coder<std::map<K, V, Less, A>> : internal::MapCoder<std::map<K, V, Less, A>, true, true> {};
template <typename K, typename V, typename Less, typename A>
  requires Codable<K> && Codable<V>
struct Coder<std::multimap<K, V, Less, A>> : internal::MapCoder<std::multimap<K, V, Less, A>, true, false> {};
template <typename K, typename V, typename Hash, typename Equal, typename A>
  requires Codable<K> && Codable<V>
struct Coder<std::unordered_map<K, V, Hash, Equal, A>>
    : internal::MapCoder<std::unordered_map<K, V, Hash, Equal, A>, false, true> {};
template <typename K, typename V, typename Hash, typename Equal, typename A>
  requires Codable<K> && Codable<V>
struct Coder<std::unordered_multimap<K, V, Hash, Equal, A>>
    : internal::MapCoder<std::unordered_multimap<K, V, Hash, Equal, A>, false, false> {};

// Their signatures. Maps and sets with and without an order are the same; one that may have equal keys is a plain iterable.

namespace internal {

template <>
struct CoderShape<float> {
  static std::string Get() { return "float"; }
};
template <typename T>
  requires Coder<T>::kIsEnumAsVarint
struct CoderShape<T> {
  static std::string Get() { return "varint"; }
};
template <>
struct CoderShape<std::monostate> {
  static std::string Get() { return "none"; }
};
template <typename A, typename B>
struct CoderShape<std::pair<A, B>> {
  static std::string Get() { return "kv<" + SignatureList<A, B>() + ">"; }
};
template <typename... T>
struct CoderShape<std::tuple<T...>> {
  static std::string Get() { return "row<" + SignatureList<T...>() + ">"; }
};
template <typename E, size_t n>
struct CoderShape<std::array<E, n>> {
  static std::string Get() { return "array<" + CoderSignature<E>() + "," + std::to_string(n) + ">"; }
};
template <typename... T>
struct CoderShape<std::variant<T...>> {
  static std::string Get() { return "variant<" + SignatureList<T...>() + ">"; }
};
template <typename T>
  requires std::derived_from<Coder<T>, SequenceCoder<T>>
struct CoderShape<T> {
  static std::string Get() { return "iterable<" + CoderSignature<typename T::value_type>() + ">"; }
};
template <typename T>
  requires Coder<T>::kIsSet
struct CoderShape<T> {
  static std::string Get() {
    return (Coder<T>::kIsUnique ? "set<" : "iterable<") + CoderSignature<typename T::value_type>() + ">";
  }
};
template <typename T>
  requires Coder<T>::kIsMap
struct CoderShape<T> {
  static std::string Get() {
    const std::string entry = SignatureList<typename T::key_type, typename T::mapped_type>();
    return Coder<T>::kIsUnique ? "map<" + entry + ">" : "iterable<kv<" + entry + ">>";
  }
};

}  // namespace internal

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_CONTAINER_CODERS_H_
