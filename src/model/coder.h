// How a value is written to bytes: one Coder<T> per type, found by type (Beam's coders).
//
// Encodings are Beam's, in the nested context (beam_runner_api.proto, StandardCoders): a bytes or string is preceded by
// its length, an iterable by its count. A program makes its own struct codable by naming its fields,
//
//   struct Order { std::string id; int64_t amount; };
//   HORNBEAM_CODER(Order, id, amount);          // beside the struct, in its namespace; up to 12 fields
//
// or by specialising Coder<T>. Requirements on a specialisation: Encode and Decode are inverse, equal values have equal
// bytes when T is used as a key, and Decode returns false (and never crashes) on bytes that Encode did not write.
#ifndef HORNBEAM_MODEL_CODER_H_
#define HORNBEAM_MODEL_CODER_H_

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/key_hash.h"
#include "model/kv.h"
#include "model/time.h"

namespace hornbeam::model {

template <typename T>
struct Coder;  // undefined: a type without a coder

template <typename T>
concept Codable = requires(const T& value, T* out, std::string* bytes, ByteReader& in) {
  Coder<T>::Encode(value, bytes);
  { Coder<T>::Decode(in, out) } -> std::convertible_to<bool>;
};

namespace internal {
inline void PutBigEndian64(std::string* out, uint64_t v) { PutFixed64(out, __builtin_bswap64(v)); }
inline uint64_t BigEndian64(ByteReader& in) { return __builtin_bswap64(in.Fixed64()); }
inline void PutBigEndian32(std::string* out, uint32_t v) { PutFixed32(out, __builtin_bswap32(v)); }
inline uint32_t BigEndian32(ByteReader& in) { return __builtin_bswap32(in.Fixed32()); }
}  // namespace internal

// beam:coder:varint:v1
template <std::integral T>
  requires(!std::same_as<T, bool>)
struct Coder<T> {
  static void Encode(T v, std::string* out) { PutVarint(out, static_cast<uint64_t>(static_cast<int64_t>(v))); }
  static bool Decode(ByteReader& in, T* v) {
    *v = static_cast<T>(in.Varint());
    return in.ok();
  }
};

// beam:coder:bool:v1
template <>
struct Coder<bool> {
  static void Encode(bool v, std::string* out) { out->push_back(v ? 1 : 0); }
  static bool Decode(ByteReader& in, bool* v) {
    const uint8_t byte = in.Byte();
    *v = byte == 1;
    return in.ok() && byte <= 1;
  }
};

// beam:coder:double:v1
template <>
struct Coder<double> {
  static void Encode(double v, std::string* out) { internal::PutBigEndian64(out, std::bit_cast<uint64_t>(v)); }
  static bool Decode(ByteReader& in, double* v) {
    *v = std::bit_cast<double>(internal::BigEndian64(in));
    return in.ok();
  }
};

// beam:coder:string_utf8:v1 and beam:coder:bytes:v1
template <>
struct Coder<std::string> {
  static void Encode(const std::string& v, std::string* out) { PutBytes(out, v); }
  static bool Decode(ByteReader& in, std::string* v) {
    v->assign(in.Bytes());
    return in.ok();
  }
};

// beam:coder:kv:v1
template <typename K, typename V>
  requires Codable<K> && Codable<V>
struct Coder<KV<K, V>> {
  static void Encode(const KV<K, V>& v, std::string* out) {
    Coder<K>::Encode(v.key, out);
    Coder<V>::Encode(v.value, out);
  }
  static bool Decode(ByteReader& in, KV<K, V>* v) { return Coder<K>::Decode(in, &v->key) && Coder<V>::Decode(in, &v->value); }
};

// beam:coder:iterable:v1
template <typename T>
  requires Codable<T>
struct Coder<std::vector<T>> {
  static void Encode(const std::vector<T>& v, std::string* out) {
    internal::PutBigEndian32(out, static_cast<uint32_t>(v.size()));
    for (const T& element : v) Coder<T>::Encode(element, out);
  }
  static bool Decode(ByteReader& in, std::vector<T>* v) {
    const uint32_t count = internal::BigEndian32(in);
    v->clear();
    for (uint32_t i = 0; i < count && in.ok(); ++i) {
      if (!Coder<T>::Decode(in, &v->emplace_back())) return false;
    }
    return in.ok();
  }
};

// beam:coder:nullable:v1
template <typename T>
  requires Codable<T>
struct Coder<std::optional<T>> {
  static void Encode(const std::optional<T>& v, std::string* out) {
    out->push_back(v ? 1 : 0);
    if (v) Coder<T>::Encode(*v, out);
  }
  static bool Decode(ByteReader& in, std::optional<T>* v) {
    bool present = false;
    if (!Coder<bool>::Decode(in, &present)) return false;
    if (!present) {
      v->reset();
      return true;
    }
    return Coder<T>::Decode(in, &v->emplace());
  }
};

template <>
struct Coder<EventTime> {
  static void Encode(EventTime v, std::string* out) { internal::PutBigEndian64(out, static_cast<uint64_t>(v.us)); }
  static bool Decode(ByteReader& in, EventTime* v) {
    v->us = static_cast<int64_t>(internal::BigEndian64(in));
    return in.ok();
  }
};

// A struct whose fields HORNBEAM_CODER names: its fields one after another.
template <typename T>
concept HasCodedFields = requires(T& v) { HornbeamCodedFields(v); };

template <HasCodedFields T>
struct Coder<T> {
  static void Encode(const T& v, std::string* out) {
    std::apply([out](const auto&... field) { (Coder<std::decay_t<decltype(field)>>::Encode(field, out), ...); },
               HornbeamCodedFields(const_cast<T&>(v)));
  }
  static bool Decode(ByteReader& in, T* v) {
    return std::apply([&in](auto&... field) { return (Coder<std::decay_t<decltype(field)>>::Decode(in, &field) && ...); },
                      HornbeamCodedFields(*v));
  }
};

// The hash of a key: of a string its bytes, of anything else its encoding.
template <typename K>
KeyHash HashKey(const K& key) {
  if constexpr (std::is_same_v<K, std::string>) {
    return HashKeyBytes(key);
  } else {
    thread_local std::string scratch;
    scratch.clear();
    Coder<K>::Encode(key, &scratch);
    return HashKeyBytes(scratch);
  }
}

}  // namespace hornbeam::model

// Names the fields of a struct that a coder writes, in this order. Put it in the struct's own namespace.
#define HORNBEAM_CODER(Type, ...) \
  inline auto HornbeamCodedFields(Type& hb_value) { return HORNBEAM_TIE_(hb_value, __VA_ARGS__); }

#define HORNBEAM_TIE_(v, ...) HORNBEAM_TIE_PICK_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(v, __VA_ARGS__)
#define HORNBEAM_TIE_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) HORNBEAM_TIE_CAT_(HORNBEAM_TIE_, n)
#define HORNBEAM_TIE_CAT_(a, b) a##b
#define HORNBEAM_TIE_1(v, a) std::tie(v.a)
#define HORNBEAM_TIE_2(v, a, b) std::tie(v.a, v.b)
#define HORNBEAM_TIE_3(v, a, b, c) std::tie(v.a, v.b, v.c)
#define HORNBEAM_TIE_4(v, a, b, c, d) std::tie(v.a, v.b, v.c, v.d)
#define HORNBEAM_TIE_5(v, a, b, c, d, e) std::tie(v.a, v.b, v.c, v.d, v.e)
#define HORNBEAM_TIE_6(v, a, b, c, d, e, f) std::tie(v.a, v.b, v.c, v.d, v.e, v.f)
#define HORNBEAM_TIE_7(v, a, b, c, d, e, f, g) std::tie(v.a, v.b, v.c, v.d, v.e, v.f, v.g)
#define HORNBEAM_TIE_8(v, a, b, c, d, e, f, g, h) std::tie(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h)
#define HORNBEAM_TIE_9(v, a, b, c, d, e, f, g, h, i) std::tie(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h, v.i)
#define HORNBEAM_TIE_10(v, a, b, c, d, e, f, g, h, i, j) std::tie(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h, v.i, v.j)
#define HORNBEAM_TIE_11(v, a, b, c, d, e, f, g, h, i, j, k) \
  std::tie(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h, v.i, v.j, v.k)
#define HORNBEAM_TIE_12(v, a, b, c, d, e, f, g, h, i, j, k, l) \
  std::tie(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h, v.i, v.j, v.k, v.l)

#endif  // HORNBEAM_MODEL_CODER_H_
