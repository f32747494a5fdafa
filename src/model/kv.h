// A key and a value (Beam's KV).
#ifndef HORNBEAM_MODEL_KV_H_
#define HORNBEAM_MODEL_KV_H_

#include <compare>
#include <utility>

namespace hornbeam::model {

template <typename K, typename V>
struct KV {
  using KeyT = K;
  using ValueT = V;
  K key{};
  V value{};

  friend auto operator<=>(const KV&, const KV&) = default;
};

template <typename K, typename V>
KV(K, V) -> KV<K, V>;

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_KV_H_
