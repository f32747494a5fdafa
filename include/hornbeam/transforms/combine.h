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
    using engine::CombineAccumulators, engine::CombineInputs, engine::GroupingOperator;
    using InputT = typename CombineFn::InputT;
    using AccumulatorT = typename CombineFn::AccumulatorT;
    Pipeline& pipeline = input.pipeline();
    const WindowingStrategy strategy = input.windowing();
    internal::CheckGrouping(pipeline, name, strategy, input.bounded());
    const auto output = [&](const std::string& step, model::PCollectionId from, auto factory) {
      return internal::Handle<KV<K, typename CombineFn::OutputT>>(
          pipeline, pipeline.Add(step, "beam:transform:combine_per_key:v1", {from}, std::move(factory),
                                 {internal::AfterGrouping(strategy)}, input.bounded()));
    };
    if (!CanLift(strategy)) {
      return output(name, input.id(), internal::KeyedFactory<K, InputT>([strategy, fn = fn_] {
                      using Traits = CombineInputs<K, CombineFn>;
                      return std::make_unique<GroupingOperator<Traits>>(strategy, Traits{fn});
                    }));
    }
    auto lifted = std::make_shared<engine::OperatorFactory>();
    lifted->new_operator = [fn = fn_] { return std::make_unique<engine::LiftedCombineOperator<K, CombineFn>>(fn); };
    const auto partials = internal::Handle<KV<K, AccumulatorT>>(
        pipeline, pipeline.Add(absl::StrCat(name, "/Precombine"), "beam:transform:combine_per_key_precombine:v1",
                               {input.id()}, std::move(lifted), {strategy}, input.bounded()));
    return output(absl::StrCat(name, "/Merge"), partials.id(), internal::KeyedFactory<K, AccumulatorT>([strategy, fn = fn_] {
                    using Traits = CombineAccumulators<K, CombineFn>;
                    return std::make_unique<GroupingOperator<Traits>>(strategy, Traits{fn});
                  }));
  }

 private:
  // Below a trigger that counts, or fires by the clock, every element has to be seen as it comes.
  static bool CanLift(const WindowingStrategy& strategy) {
    const engine::TriggerMachine machine(strategy.trigger);
    return !machine.CountsElementsBeforeEnd() && !machine.UsesProcessingTime() &&
           strategy.timestamp_combiner == TimestampCombiner::kEndOfWindow;
  }

  CombineFn fn_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_COMBINE_H_
