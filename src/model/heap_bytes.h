// About how many bytes a value has outside of itself: what a memory budget counts of keys and accumulators.
#ifndef HORNBEAM_MODEL_HEAP_BYTES_H_
#define HORNBEAM_MODEL_HEAP_BYTES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/coder.h"
#include "model/kv.h"

namespace hornbeam::model {

// What an allocator adds to a block.
inline constexpr size_t kAllocationOverhead = 16;

template <typename T>
struct HeapBytesOf {
  static size_t Of(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      return 0;
    } else if constexpr (HasCodedFields<T>) {
      return std::apply([](const auto&... field) { return (size_t{0} + ... + HeapBytesOf<std::decay_t<decltype(field)>>::Of(field)); },
                        HornbeamCodedFields(const_cast<T&>(value)));
    } else {
      // A type that says nothing of its inside: about what it takes in bytes.
      std::string bytes;
      Coder<T>::Encode(value, &bytes);
      return bytes.size() + kAllocationOverhead;
    }
  }
};

template <>
struct HeapBytesOf<std::string> {
  static size_t Of(const std::string& value) {
    return value.capacity() < sizeof(std::string) / 2 ? 0 : value.capacity() + 1 + kAllocationOverhead;
  }
};

template <typename T>
struct HeapBytesOf<std::vector<T>> {
  static size_t Of(const std::vector<T>& values) {
    if (values.capacity() == 0) return 0;
    size_t bytes = values.capacity() * sizeof(T) + kAllocationOverhead;
    if constexpr (!std::is_trivially_copyable_v<T>) {
      for (const T& value : values) bytes += HeapBytesOf<T>::Of(value);
    }
    return bytes;
  }
};

template <typename K, typename V>
struct HeapBytesOf<KV<K, V>> {
  static size_t Of(const KV<K, V>& kv) { return HeapBytesOf<K>::Of(kv.key) + HeapBytesOf<V>::Of(kv.value); }
};

template <typename T>
struct HeapBytesOf<std::optional<T>> {
  static size_t Of(const std::optional<T>& value) { return value ? HeapBytesOf<T>::Of(*value) : 0; }
};

template <typename T>
size_t HeapBytes(const T& value) {
  return HeapBytesOf<T>::Of(value);
}

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_HEAP_BYTES_H_
