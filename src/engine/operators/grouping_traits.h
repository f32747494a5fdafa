// What a grouping gathers of each key and window: all values, or a CombineFn's accumulator.
//
//   using Key, Input, Accumulator, Output;
//   Accumulator Create() const;
//   void Add(Accumulator* into, Input&& element) const;
//   void Merge(Accumulator* into, Accumulator&& from) const;  // `from` came later
//   Output Extract(Accumulator* from, bool keep) const;       // keep: the accumulator is used further
//   static constexpr bool kAppends;                           // Accumulator is a vector<Input>: only what is new is logged
#ifndef HORNBEAM_ENGINE_OPERATORS_GROUPING_TRAITS_H_
#define HORNBEAM_ENGINE_OPERATORS_GROUPING_TRAITS_H_

#include <iterator>
#include <utility>
#include <vector>

namespace hornbeam::engine {

// GroupByKey: all values, in the order in which they came.
template <typename K, typename V>
struct GroupValues {
  using Key = K;
  using Input = V;
  using Accumulator = std::vector<V>;
  using Output = std::vector<V>;
  static constexpr bool kAppends = true;

  Accumulator Create() const { return {}; }
  void Add(Accumulator* into, V&& value) const { into->push_back(std::move(value)); }
  void Merge(Accumulator* into, Accumulator&& from) const {
    into->insert(into->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
  Output Extract(Accumulator* from, bool keep) const { return keep ? *from : std::move(*from); }
};

// What a Beam CombineFn combines. CombineFn: AccumulatorT CreateAccumulator(), AddInput(AccumulatorT&, const InputT&),
// MergeAccumulators(AccumulatorT& into, const AccumulatorT&), OutputT ExtractOutput(const AccumulatorT&), all const.
template <typename K, typename CombineFn>
struct CombineTraits {
  using Key = K;
  using Accumulator = typename CombineFn::AccumulatorT;
  using Output = typename CombineFn::OutputT;
  static constexpr bool kAppends = false;

  CombineFn fn;
  Accumulator Create() const { return fn.CreateAccumulator(); }
  void Merge(Accumulator* into, Accumulator&& from) const { fn.MergeAccumulators(*into, from); }
  Output Extract(Accumulator* from, bool keep) const { return fn.ExtractOutput(*from); }
};

// Its inputs.
template <typename K, typename CombineFn>
struct CombineInputs : CombineTraits<K, CombineFn> {
  using Input = typename CombineFn::InputT;
  void Add(typename CombineFn::AccumulatorT* into, Input&& value) const { this->fn.AddInput(*into, value); }
};

// Accumulators that were combined ahead of the exchange.
template <typename K, typename CombineFn>
struct CombineAccumulators : CombineTraits<K, CombineFn> {
  using Input = typename CombineFn::AccumulatorT;
  void Add(typename CombineFn::AccumulatorT* into, Input&& value) const { this->fn.MergeAccumulators(*into, value); }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_GROUPING_TRAITS_H_
