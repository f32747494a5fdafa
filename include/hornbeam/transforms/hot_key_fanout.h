// CombinePerKey with a fan-out for hot keys (Beam's Combine.PerKey.withHotKeyFanout): the elements of a key are first combined in
// several parts, on several workers, and the parts then together.
//
//   clicks | "PerPage" >> CombinePerKeyWithHotKeyFanout(Sum<int64_t>(), [](const std::string& page) { return page == "/" ? 16 : 1; });
//
// Where the combine is lifted anyway (combine.h: most are), each worker sends one part per key and window as it is, and a fan-out
// adds an exchange for nothing. It is for combines under triggers that count or go by the clock. Windows that merge are refused: the
// parts of a session would be shorter than the session, and end before it. (Beam lets them.)
//
// The trigger acts twice, as in Beam: a part comes out when the trigger says so for the part, and counts as one element then.
#ifndef HORNBEAM_TRANSFORMS_HOT_KEY_FANOUT_H_
#define HORNBEAM_TRANSFORMS_HOT_KEY_FANOUT_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/operators/pass_through.h"
#include "hornbeam/transforms/combine.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/elementwise.h"

namespace hornbeam {

namespace internal {

// The same collection under another windowing strategy; its elements stay in the windows that they have.
template <typename T>
PCollection<T> UnderStrategy(const PCollection<T>& input, const std::string& name, const WindowingStrategy& strategy) {
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->new_operator = [] { return std::make_unique<engine::PassThroughOperator>(); };
  return Handle<T>(input.pipeline(), input.pipeline().Add(name, "hornbeam:transform:under_strategy:v1", {input.id()},
                                                          std::move(factory), {strategy}, input.bounded()));
}

// Combines no further than to an accumulator.
template <typename CombineFn>
struct PartialFn {
  using InputT = typename CombineFn::InputT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using OutputT = AccumulatorT;
  CombineFn fn;
  AccumulatorT CreateAccumulator() const { return fn.CreateAccumulator(); }
  void AddInput(AccumulatorT& a, const InputT& value) const { fn.AddInput(a, value); }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const { fn.MergeAccumulators(into, from); }
  OutputT ExtractOutput(const AccumulatorT& a) const { return a; }
};

// Combines accumulators.
template <typename CombineFn>
struct MergingFn {
  using InputT = typename CombineFn::AccumulatorT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using OutputT = typename CombineFn::OutputT;
  CombineFn fn;
  AccumulatorT CreateAccumulator() const { return fn.CreateAccumulator(); }
  void AddInput(AccumulatorT& a, const InputT& from) const { fn.MergeAccumulators(a, from); }
  void MergeAccumulators(AccumulatorT& into, const AccumulatorT& from) const { fn.MergeAccumulators(into, from); }
  OutputT ExtractOutput(const AccumulatorT& a) const { return fn.ExtractOutput(a); }
};

// Sends elements of a key with a fan-out above 1 to its parts in turn.
template <typename K, typename V, typename Fanout>
struct SplitHotKeys {
  Fanout fanout;
  int64_t next = 0;
  void ProcessElement(const KV<K, V>& element, OutputReceiver<KV<KV<K, int64_t>, V>>& hot, OutputReceiver<KV<K, V>>& cold) {
    const int64_t parts = fanout(element.key);
    if (parts > 1) {
      hot.Output({{element.key, next++ % parts}, element.value});
    } else {
      cold.Output(element);
    }
  }
};

}  // namespace internal

template <typename CombineFn, typename Fanout>
class HotKeyFanoutTransform : public PTransform {
  using InputT = typename CombineFn::InputT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using OutputT = typename CombineFn::OutputT;

 public:
  HotKeyFanoutTransform(CombineFn fn, Fanout fanout) : fn_(std::move(fn)), fanout_(std::move(fanout)) {}

  template <typename K>
  PCollection<KV<K, OutputT>> Expand(const PCollection<KV<K, InputT>>& collection, const std::string& name) const {
    const auto input = internal::InEachWindow(collection, name);
    const WindowingStrategy strategy = input.windowing();
    if (strategy.merges()) {
      input.pipeline().NoteMistake(absl::InvalidArgumentError(
          absl::StrCat("'", name, "' cannot spread a key whose windows merge: a part's ", ToString(strategy.window_fn),
                       " would end before the whole's; combine without a fan-out")));
    }
    using Hot = KV<KV<K, int64_t>, InputT>;
    const OutputTag<Hot> hot_tag{"hot"};
    const OutputTag<KV<K, InputT>> cold_tag{"cold"};
    const auto split = input | Named(name, "Split", ParDo(internal::SplitHotKeys<K, InputT, Fanout>{fanout_})
                                                         .WithOutputs(hot_tag, cold_tag));
    // The parts come together later, so none may be counted twice.
    WindowingStrategy discarding = strategy;
    discarding.accumulation_mode = AccumulationMode::kDiscarding;
    const auto parts = internal::UnderStrategy(split.Get(hot_tag), absl::StrCat(name, "/Discarding"), discarding)
                       | Named(name, "CombineParts", CombinePerKey(internal::PartialFn<CombineFn>{fn_}))
                       | Named(name, "WithoutPart", Map([](const KV<KV<K, int64_t>, AccumulatorT>& part) {
                           return KV<K, AccumulatorT>{part.key.key, part.value};
                         }));
    const auto singles = split.Get(cold_tag) | Named(name, "Lift", Map([fn = fn_](const KV<K, InputT>& element) {
                                                       KV<K, AccumulatorT> lifted{element.key, fn.CreateAccumulator()};
                                                       fn.AddInput(lifted.value, element.value);
                                                       return lifted;
                                                     }));
    const auto together = Flatten(absl::StrCat(name, "/Together"),
                                  std::vector{internal::UnderStrategy(parts, absl::StrCat(name, "/AsBefore"), strategy), singles});
    return together | Named(name, "CombineAll", CombinePerKey(internal::MergingFn<CombineFn>{fn_}));
  }

 private:
  template <typename Transform>
  static NamedTransform<Transform> Named(const std::string& name, const char* inner, Transform transform) {
    return {absl::StrCat(name, "/", inner), std::move(transform)};
  }

  CombineFn fn_;
  Fanout fanout_;
};

// `fanout(key)`: into how many parts; up to 1, none.
template <typename CombineFn, typename Fanout>
HotKeyFanoutTransform<CombineFn, Fanout> CombinePerKeyWithHotKeyFanout(CombineFn fn, Fanout fanout) {
  return HotKeyFanoutTransform<CombineFn, Fanout>(std::move(fn), std::move(fanout));
}

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_HOT_KEY_FANOUT_H_
