// CombinePerKey and the usual CombineFns.
//
//   KV<store, amount> | "Sum" >> CombinePerKey(Sum<int64_t>())
//
// A CombineFn is a copyable object with
//   using InputT, AccumulatorT, OutputT;                       // AccumulatorT has a coder
//   AccumulatorT CreateAccumulator() const;
//   void AddInput(AccumulatorT& accumulator, const InputT& input) const;
//   void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const;   // associative and commutative
//   OutputT ExtractOutput(const AccumulatorT& accumulator) const;
#ifndef HORNBEAM_TRANSFORMS_COMBINE_H_
#define HORNBEAM_TRANSFORMS_COMBINE_H_

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/operators/lifted_combine.h"
#include "engine/operators/sliding_combine.h"
#include "engine/windowing/trigger_machine.h"
#include "hornbeam/transforms/group_by_key.h"

namespace hornbeam {

template <typename T>
struct Sum {
  using InputT = T;
  using AccumulatorT = T;
  using OutputT = T;
  T CreateAccumulator() const { return T{}; }
  void AddInput(T& sum, const T& value) const { sum += value; }
  void MergeAccumulators(T& into, const T& from) const { into += from; }
  T ExtractOutput(const T& sum) const { return sum; }
};

template <typename T>
struct Count {
  using InputT = T;
  using AccumulatorT = int64_t;
  using OutputT = int64_t;
  int64_t CreateAccumulator() const { return 0; }
  void AddInput(int64_t& count, const T&) const { ++count; }
  void MergeAccumulators(int64_t& into, int64_t from) const { into += from; }
  int64_t ExtractOutput(int64_t count) const { return count; }
};

template <typename T>
struct Min {
  using InputT = T;
  using AccumulatorT = T;
  using OutputT = T;
  T CreateAccumulator() const { return std::numeric_limits<T>::max(); }
  void AddInput(T& least, const T& value) const { least = std::min(least, value); }
  void MergeAccumulators(T& into, const T& from) const { into = std::min(into, from); }
  T ExtractOutput(const T& least) const { return least; }
};

template <typename T>
struct Max {
  using InputT = T;
  using AccumulatorT = T;
  using OutputT = T;
  T CreateAccumulator() const { return std::numeric_limits<T>::lowest(); }
  void AddInput(T& greatest, const T& value) const { greatest = std::max(greatest, value); }
  void MergeAccumulators(T& into, const T& from) const { into = std::max(into, from); }
  T ExtractOutput(const T& greatest) const { return greatest; }
};

template <typename T>
struct Mean {
  using InputT = T;
  using AccumulatorT = KV<double, int64_t>;  // the sum, the count
  using OutputT = double;
  AccumulatorT CreateAccumulator() const { return {0.0, 0}; }
  void AddInput(AccumulatorT& a, const T& value) const {
    a.key += static_cast<double>(value);
    ++a.value;
  }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const {
    into.key += from.key;
    into.value += from.value;
  }
  // Of nothing: NaN, as in Beam.
  double ExtractOutput(const AccumulatorT& a) const {
    return a.value == 0 ? std::numeric_limits<double>::quiet_NaN() : a.key / static_cast<double>(a.value);
  }
};

// One output per key, window and firing. Combined on each worker ahead of the exchange wherever the trigger allows it.
template <typename CombineFn>
class CombinePerKey : public PTransform {
 public:
  explicit CombinePerKey(CombineFn fn) : fn_(std::move(fn)) {}

  template <typename K>
  PCollection<KV<K, typename CombineFn::OutputT>> Expand(const PCollection<KV<K, typename CombineFn::InputT>>& input,
                                                         const std::string& name) const {
    internal::CheckGrouping(input.pipeline(), name, input.windowing(), input.bounded());
    if (input.pipeline().sliced(input.id()) && FiresOnceAtTheEnd(input.windowing())) {
      return Merge<K>(Lift<K>(input, name), absl::StrCat(name, "/Merge"), /*slices=*/true);
    }
    const auto exploded = internal::InEachWindow(input, name);
    if (CanLift(input.windowing())) return Merge<K>(Lift<K>(exploded, name), absl::StrCat(name, "/Merge"), /*slices=*/false);
    return Combine<K>(exploded, name);
  }

 private:
  using InputT = typename CombineFn::InputT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using OutputT = typename CombineFn::OutputT;

  // Below a trigger that counts, or fires by the clock, every element has to be seen as it comes; and where windows merge, each has
  // a window of its own.
  static bool CanLift(const WindowingStrategy& strategy) {
    const engine::TriggerMachine machine(strategy.trigger);
    return !machine.CountsElementsBeforeEnd() && !machine.UsesProcessingTime() && !strategy.merges() &&
           strategy.timestamp_combiner == TimestampCombiner::kEndOfWindow;
  }
  static bool FiresOnceAtTheEnd(const WindowingStrategy& strategy) {
    const engine::TriggerMachine machine(strategy.trigger);
    return CanLift(strategy) && !machine.NeedsStateBeforeEnd() && strategy.allowed_lateness == Duration{};
  }

  template <typename K>
  PCollection<KV<K, AccumulatorT>> Lift(const PCollection<KV<K, InputT>>& input, const std::string& name) const {
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->new_operator = [fn = fn_] { return std::make_unique<engine::LiftedCombineOperator<K, CombineFn>>(fn); };
    return internal::Handle<KV<K, AccumulatorT>>(
        input.pipeline(),
        input.pipeline().Add(absl::StrCat(name, "/Precombine"), "beam:transform:combine_per_key_precombine:v1", {input.id()},
                             std::move(factory), {input.windowing()}, input.bounded()));
  }

  template <typename K>
  PCollection<KV<K, OutputT>> Merge(const PCollection<KV<K, AccumulatorT>>& partials, const std::string& name, bool slices) const {
    const WindowingStrategy strategy = partials.windowing();
    return Keyed<K>(partials, name, [strategy, fn = fn_, slices]() -> std::unique_ptr<engine::Operator> {
      if (slices) return std::make_unique<engine::SlidingCombineOperator<K, CombineFn>>(strategy.window_fn, fn);
      using Traits = engine::CombineAccumulators<K, CombineFn>;
      return std::make_unique<engine::GroupingOperator<Traits>>(strategy, Traits{{fn}});
    });
  }

  template <typename K>
  PCollection<KV<K, OutputT>> Combine(const PCollection<KV<K, InputT>>& input, const std::string& name) const {
    const WindowingStrategy strategy = input.windowing();
    return Keyed<K>(input, name, [strategy, fn = fn_] {
      using Traits = engine::CombineInputs<K, CombineFn>;
      return internal::NewGrouping(strategy, Traits{{fn}});
    });
  }

  template <typename K, typename V, typename NewOperator>
  PCollection<KV<K, OutputT>> Keyed(const PCollection<KV<K, V>>& input, const std::string& name, NewOperator new_operator) const {
    auto factory = internal::KeyedFactory<K, V>(std::move(new_operator));
    factory->state_signature = model::CoderSignature<KV<K, AccumulatorT>>();
    return internal::Handle<KV<K, OutputT>>(
        input.pipeline(), input.pipeline().Add(name, "beam:transform:combine_per_key:v1", {input.id()}, std::move(factory),
                                               {internal::AfterGrouping(input.windowing())}, input.bounded()));
  }

  CombineFn fn_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_COMBINE_H_
