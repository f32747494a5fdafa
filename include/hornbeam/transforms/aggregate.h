// The usual aggregations, whose types follow from their input: Count, Sum, Mean, Min, Max, Top, Latest, Sample, Distinct.
//
//   words | "Count" >> CountPerElement() | ...;              // PCollection<KV<std::string, int64_t>>
//   sales | "Best"  >> TopLargestPerKey(3) | ...;            // KV<store, amount> to KV<store, std::vector<amount>>
//
// Those named Globally are a CombineGlobally each, with its default and its WithoutDefaults(); those named PerKey a CombinePerKey.
#ifndef HORNBEAM_TRANSFORMS_AGGREGATE_H_
#define HORNBEAM_TRANSFORMS_AGGREGATE_H_

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/transforms/combine.h"
#include "hornbeam/transforms/combine_fns.h"
#include "hornbeam/transforms/combine_globally.h"
#include "hornbeam/transforms/elementwise.h"

namespace hornbeam {

// `fn_of(std::type_identity<T>)` gives the CombineFn for inputs of type T.
template <typename FnOf>
class AggregateGlobally : public PTransform {
 public:
  explicit AggregateGlobally(FnOf fn_of) : fn_of_(std::move(fn_of)) {}
  AggregateGlobally WithoutDefaults() const {
    AggregateGlobally changed = *this;
    changed.has_default_ = false;
    return changed;
  }
  template <typename T>
  auto Expand(const PCollection<T>& input, const std::string& name) const {
    const CombineGlobally combine(fn_of_(std::type_identity<T>()));
    return (has_default_ ? combine : combine.WithoutDefaults()).Expand(input, name);
  }

 private:
  FnOf fn_of_;
  bool has_default_ = true;
};

template <typename FnOf>
class AggregatePerKey : public PTransform {
 public:
  explicit AggregatePerKey(FnOf fn_of) : fn_of_(std::move(fn_of)) {}
  template <typename K, typename V>
  auto Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    return CombinePerKey(fn_of_(std::type_identity<V>())).Expand(input, name);
  }

 private:
  FnOf fn_of_;
};

namespace internal {

template <template <typename> typename Fn>
struct PlainFn {
  template <typename T>
  Fn<T> operator()(std::type_identity<T>) const {
    return Fn<T>();
  }
};
template <template <typename> typename Fn>
struct SizedFn {
  size_t n;
  template <typename T>
  Fn<T> operator()(std::type_identity<T>) const {
    return Fn<T>(n);
  }
};
// Less void: the type's own order.
template <template <typename> typename Order>
struct TopByOrder {
  size_t n;
  template <typename T>
  TopFn<T, Order<T>> operator()(std::type_identity<T>) const {
    return TopFn<T, Order<T>>(n);
  }
};
template <typename Less>
struct TopBy {
  size_t n;
  Less less;
  template <typename T>
  TopFn<T, Less> operator()(std::type_identity<T>) const {
    return TopFn<T, Less>(n, less);
  }
};

}  // namespace internal

// int64_t.
inline auto CountGlobally() { return AggregateGlobally(internal::PlainFn<Count>()); }
inline auto CountPerKey() { return AggregatePerKey(internal::PlainFn<Count>()); }
inline auto SumGlobally() { return AggregateGlobally(internal::PlainFn<Sum>()); }
inline auto SumPerKey() { return AggregatePerKey(internal::PlainFn<Sum>()); }
inline auto MeanGlobally() { return AggregateGlobally(internal::PlainFn<Mean>()); }
inline auto MeanPerKey() { return AggregatePerKey(internal::PlainFn<Mean>()); }
inline auto MinGlobally() { return AggregateGlobally(internal::PlainFn<Min>()); }
inline auto MinPerKey() { return AggregatePerKey(internal::PlainFn<Min>()); }
inline auto MaxGlobally() { return AggregateGlobally(internal::PlainFn<Max>()); }
inline auto MaxPerKey() { return AggregatePerKey(internal::PlainFn<Max>()); }

// A std::vector of `n` values at most, the best first. By operator<, or by `less(a, b)`: a is worse than b.
inline auto TopLargest(size_t n) { return AggregateGlobally(internal::TopByOrder<std::less>{n}); }
inline auto TopSmallest(size_t n) { return AggregateGlobally(internal::TopByOrder<std::greater>{n}); }
template <typename Less>
auto TopOf(size_t n, Less less) {
  return AggregateGlobally(internal::TopBy<Less>{n, std::move(less)});
}
inline auto TopLargestPerKey(size_t n) { return AggregatePerKey(internal::TopByOrder<std::less>{n}); }
inline auto TopSmallestPerKey(size_t n) { return AggregatePerKey(internal::TopByOrder<std::greater>{n}); }
template <typename Less>
auto TopOfPerKey(size_t n, Less less) {
  return AggregatePerKey(internal::TopBy<Less>{n, std::move(less)});
}

// A std::vector of `n` elements, or all where there are no more, each as likely as any other.
inline auto SampleGlobally(size_t n) { return AggregateGlobally(internal::SizedFn<SampleFn>{n}); }
inline auto SamplePerKey(size_t n) { return AggregatePerKey(internal::SizedFn<SampleFn>{n}); }

// Any `n` elements of each window, or all where there are no more, as elements.
class SampleAny : public PTransform {
 public:
  explicit SampleAny(size_t n) : n_(n) {}
  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    return input | NamedTransform{absl::StrCat(name, "/Gather"), CombineGlobally(AnyFn<T>(n_)).WithoutDefaults()}
                 | NamedTransform{absl::StrCat(name, "/Each"), FlatMap([](const std::vector<T>& some) { return some; })};
  }

 private:
  size_t n_;
};

// How often each element comes: KV<T, int64_t>.
class CountPerElement : public PTransform {
 public:
  template <typename T>
  PCollection<KV<T, int64_t>> Expand(const PCollection<T>& input, const std::string& name) const {
    return input | NamedTransform{absl::StrCat(name, "/Key"), Map([](const T& element) { return KV<T, bool>{element, true}; })}
                 | NamedTransform{absl::StrCat(name, "/Count"), CountPerKey()};
  }
};

// The element with the latest timestamp, as std::optional: none where there are no elements.
class LatestGlobally : public PTransform {
 public:
  LatestGlobally WithoutDefaults() const {
    LatestGlobally changed = *this;
    changed.has_default_ = false;
    return changed;
  }
  template <typename T>
  PCollection<std::optional<T>> Expand(const PCollection<T>& input, const std::string& name) const {
    const CombineGlobally combine{LatestFn<T>()};
    return input | NamedTransform{absl::StrCat(name, "/Stamp"), Map([](const T& element, const ElementContext& context) {
                                    return KV<EventTime, T>{context.timestamp(), element};
                                  })}
                 | NamedTransform{absl::StrCat(name, "/Latest"), has_default_ ? combine : combine.WithoutDefaults()};
  }

 private:
  bool has_default_ = true;
};

// The value with the latest timestamp of each key.
class LatestPerKey : public PTransform {
 public:
  template <typename K, typename V>
  PCollection<KV<K, V>> Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    using Stamped = KV<K, KV<EventTime, V>>;
    return input | NamedTransform{absl::StrCat(name, "/Stamp"), Map([](const KV<K, V>& kv, const ElementContext& context) {
                                    return Stamped{kv.key, {context.timestamp(), kv.value}};
                                  })}
                 | NamedTransform{absl::StrCat(name, "/Latest"), CombinePerKey(LatestFn<V>())}
                 | NamedTransform{absl::StrCat(name, "/Value"), Map([](const KV<K, std::optional<V>>& latest) {
                                    return KV<K, V>{latest.key, *latest.value};
                                  })};
  }
};

// Each element once in its window, or once for each key that `key_of` gives: the first, and as soon as it comes. (Beam's Distinct
// waits for a trigger.)
template <typename KeyOf>
class DistinctBy : public PTransform {
 public:
  explicit DistinctBy(KeyOf key_of) : key_of_(std::move(key_of)) {}
  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    using K = std::decay_t<std::invoke_result_t<const KeyOf&, const T&>>;
    return input | NamedTransform{absl::StrCat(name, "/Key"), Map([key_of = key_of_](const T& element) {
                                    return KV<K, T>{key_of(element), element};
                                  })}
                 | NamedTransform{absl::StrCat(name, "/First"), DeduplicatePerWindow()}
                 | NamedTransform{absl::StrCat(name, "/Value"), Map([](const KV<K, T>& first) { return first.value; })};
  }

 private:
  KeyOf key_of_;
};
inline auto Distinct() { return DistinctBy(std::identity()); }

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_AGGREGATE_H_
