// The shape of what Coder<T> writes, as text: "kv<bytes,varint>". Types with equal signatures have the same encoding, so state
// that one wrote can be read as the other.
//
// Follows the type's structure, so that renaming a struct of coded fields, or changing an int32_t to an int64_t, changes
// nothing. A Coder of the program's own has the type's name, as the compiler spells it.
#ifndef HORNBEAM_MODEL_CODER_SIGNATURE_H_
#define HORNBEAM_MODEL_CODER_SIGNATURE_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/coder.h"

namespace hornbeam::model {

template <typename T>
std::string CoderSignature();

namespace internal {

template <typename T>
constexpr std::string_view TypeName() {
  const std::string_view function = __PRETTY_FUNCTION__;
  const size_t begin = function.find("T = ") + 4;
  return function.substr(begin, function.find_first_of(";]", begin) - begin);
}

// What has a structure of its own; everything else is a leaf.
template <typename T>
struct CoderShape {
  static std::string Get() { return std::string(TypeName<T>()); }
};
template <std::integral T>
  requires(!std::same_as<T, bool>)
struct CoderShape<T> {
  static std::string Get() { return "varint"; }
};
template <>
struct CoderShape<bool> {
  static std::string Get() { return "bool"; }
};
template <>
struct CoderShape<double> {
  static std::string Get() { return "double"; }
};
template <>
struct CoderShape<std::string> {
  static std::string Get() { return "bytes"; }
};
template <>
struct CoderShape<EventTime> {
  static std::string Get() { return "time"; }
};
template <typename K, typename V>
struct CoderShape<KV<K, V>> {
  static std::string Get() { return "kv<" + CoderSignature<K>() + "," + CoderSignature<V>() + ">"; }
};
template <typename T>
struct CoderShape<std::vector<T>> {
  static std::string Get() { return "iterable<" + CoderSignature<T>() + ">"; }
};
template <typename T>
struct CoderShape<std::optional<T>> {
  static std::string Get() { return "nullable<" + CoderSignature<T>() + ">"; }
};
template <HasCodedFields T>
struct CoderShape<T> {
  static std::string Get() {
    using Fields = decltype(HornbeamCodedFields(std::declval<T&>()));
    return [&]<size_t... I>(std::index_sequence<I...>) {
      std::string fields;
      ((fields += (I == 0 ? "" : ",") + CoderSignature<std::decay_t<std::tuple_element_t<I, Fields>>>()), ...);
      return "row<" + fields + ">";
    }(std::make_index_sequence<std::tuple_size_v<Fields>>());
  }
};

}  // namespace internal

template <typename T>
std::string CoderSignature() {
  return internal::CoderShape<T>::Get();
}

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_CODER_SIGNATURE_H_
