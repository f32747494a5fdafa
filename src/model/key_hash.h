// The stable hash of a key's encoded bytes. The same in every process and for C++ and remote stages, so state written by
// one run is found by the next. Computed once per element and carried beside it.
#ifndef HORNBEAM_MODEL_KEY_HASH_H_
#define HORNBEAM_MODEL_KEY_HASH_H_

#include <xxhash.h>

#include <compare>
#include <cstdint>
#include <string_view>

namespace hornbeam::model {

inline constexpr uint32_t kKeySlices = 256;

struct KeyHash {
  uint64_t low = 0;
  uint64_t high = 0;

  // Which of the 256 slices of the key space the key lies in.
  uint32_t slice() const { return static_cast<uint32_t>(high >> 56); }
  friend constexpr auto operator<=>(const KeyHash&, const KeyHash&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const KeyHash& k) {
    return H::combine(std::move(h), k.low);
  }
};

// XXH3-128 of the bytes.
inline KeyHash HashKeyBytes(std::string_view encoded) {
  const XXH128_hash_t h = XXH3_128bits(encoded.data(), encoded.size());
  return {h.low64, h.high64};
}

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_KEY_HASH_H_
