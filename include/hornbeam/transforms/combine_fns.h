// CombineFns that are more than arithmetic: Top, Latest, Sample. (Sum, Count, Min, Max and Mean are in combine.h.)
#ifndef HORNBEAM_TRANSFORMS_COMBINE_FNS_H_
#define HORNBEAM_TRANSFORMS_COMBINE_FNS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hornbeam/types.h"

namespace hornbeam {

// The `n` greatest by `Less`, the greatest first. Of equals any may be left out.
template <typename T, typename Less>
class TopFn {
 public:
  using InputT = T;
  using AccumulatorT = std::vector<T>;  // a heap with the least in front
  using OutputT = std::vector<T>;

  explicit TopFn(size_t n, Less less = Less()) : n_(n), less_(std::move(less)) {}

  AccumulatorT CreateAccumulator() const { return {}; }
  void AddInput(AccumulatorT& top, const T& value) const {
    if (top.size() < n_) {
      top.push_back(value);
      std::push_heap(top.begin(), top.end(), Greater());
    } else if (n_ > 0 && less_(top.front(), value)) {
      std::pop_heap(top.begin(), top.end(), Greater());
      top.back() = value;
      std::push_heap(top.begin(), top.end(), Greater());
    }
  }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const {
    for (const T& value : from) AddInput(into, value);
  }
  OutputT ExtractOutput(const AccumulatorT& top) const {
    OutputT sorted = top;
    std::sort(sorted.begin(), sorted.end(), Greater());
    return sorted;
  }

 private:
  auto Greater() const {
    return [this](const T& a, const T& b) { return less_(b, a); };
  }

  size_t n_;
  Less less_;
};

// The value with the latest timestamp; of several any; of nothing none.
template <typename T>
struct LatestFn {
  using InputT = KV<EventTime, T>;
  using AccumulatorT = std::optional<InputT>;
  using OutputT = std::optional<T>;

  AccumulatorT CreateAccumulator() const { return std::nullopt; }
  void AddInput(AccumulatorT& latest, const InputT& input) const {
    if (!latest || latest->key < input.key) latest = input;
  }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const {
    if (from) AddInput(into, *from);
  }
  OutputT ExtractOutput(const AccumulatorT& latest) const { return latest ? OutputT(latest->value) : std::nullopt; }
};

// `n` of all elements, or all where there are no more, each as likely as any other: those with the least of the numbers that
// hashing gives them. The same elements in the same order give the same sample.
template <typename T>
class SampleFn {
 public:
  using InputT = T;
  // How many elements it has seen, and a heap of the chosen ones with their numbers, the greatest in front.
  using AccumulatorT = KV<int64_t, std::vector<KV<uint64_t, T>>>;
  using OutputT = std::vector<T>;

  explicit SampleFn(size_t n) : n_(n) {}

  AccumulatorT CreateAccumulator() const { return {}; }
  void AddInput(AccumulatorT& sample, const T& value) const {
    std::string bytes;
    PutSigned(&bytes, sample.key++);
    Coder<T>::Encode(value, &bytes);
    Choose(sample, {model::HashKeyBytes(bytes).low, value});
  }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const {
    into.key += from.key;
    for (const KV<uint64_t, T>& numbered : from.value) Choose(into, numbered);
  }
  OutputT ExtractOutput(const AccumulatorT& sample) const {
    OutputT values;
    for (const KV<uint64_t, T>& numbered : sample.value) values.push_back(numbered.value);
    return values;
  }

 private:
  static bool IsLess(const KV<uint64_t, T>& a, const KV<uint64_t, T>& b) { return a.key < b.key; }

  void Choose(AccumulatorT& sample, KV<uint64_t, T> numbered) const {
    std::vector<KV<uint64_t, T>>& chosen = sample.value;
    if (chosen.size() < n_) {
      chosen.push_back(std::move(numbered));
      std::push_heap(chosen.begin(), chosen.end(), IsLess);
    } else if (n_ > 0 && IsLess(numbered, chosen.front())) {
      std::pop_heap(chosen.begin(), chosen.end(), IsLess);
      chosen.back() = std::move(numbered);
      std::push_heap(chosen.begin(), chosen.end(), IsLess);
    }
  }

  size_t n_;
};

// Any `n` elements, or all where there are no more.
template <typename T>
class AnyFn {
 public:
  using InputT = T;
  using AccumulatorT = std::vector<T>;
  using OutputT = std::vector<T>;

  explicit AnyFn(size_t n) : n_(n) {}

  AccumulatorT CreateAccumulator() const { return {}; }
  void AddInput(AccumulatorT& some, const T& value) const {
    if (some.size() < n_) some.push_back(value);
  }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const {
    for (const T& value : from) AddInput(into, value);
  }
  OutputT ExtractOutput(const AccumulatorT& some) const { return some; }

 private:
  size_t n_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_COMBINE_FNS_H_
