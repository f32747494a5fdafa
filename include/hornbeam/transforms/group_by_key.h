// GroupByKey and Deduplicate.
#ifndef HORNBEAM_TRANSFORMS_GROUP_BY_KEY_H_
#define HORNBEAM_TRANSFORMS_GROUP_BY_KEY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/exchange/keyed_exchange.h"
#include "engine/operators/deduplicate.h"
#include "engine/operators/grouping.h"
#include "engine/operators/merging_grouping.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/transforms/window.h"
#include "model/coder_signature.h"

namespace hornbeam {

namespace internal {

// What a grouping puts out is triggered downstream by the continuation of its trigger, and its windows do not merge again (Beam).
inline WindowingStrategy AfterGrouping(WindowingStrategy strategy) {
  strategy.trigger = strategy.trigger.Continuation();
  strategy.already_merged = strategy.window_fn.merges();
  return strategy;
}

// The grouping for the strategy's windows.
template <typename Traits>
std::unique_ptr<engine::Operator> NewGrouping(const WindowingStrategy& strategy, const Traits& traits) {
  if (strategy.merges()) return std::make_unique<engine::MergingGroupingOperator<Traits>>(strategy, traits);
  return std::make_unique<engine::GroupingOperator<Traits>>(strategy, traits);
}

// Notes what Beam refuses to group, unless the options allow it.
inline void CheckGrouping(Pipeline& pipeline, const std::string& name, const WindowingStrategy& strategy, bool bounded) {
  if (pipeline.options().allow_unsafe_triggers) return;
  pipeline.NoteMistake(Annotate(strategy.ValidateForGrouping(bounded), absl::StrCat("'", name, "'")));
}

// A transform behind a keyed exchange. K and V need coders: they cross workers, and wait in state.
template <typename K, typename V>
std::shared_ptr<engine::OperatorFactory> KeyedFactory(std::function<std::unique_ptr<engine::Operator>()> new_operator) {
  static_assert(model::Codable<K>, "the key's type has no coder: see model/coder.h (a Slice never has one: make it a std::string)");
  static_assert(model::Codable<V>, "the value's type has no coder: see model/coder.h (a Slice never has one: make it a std::string)");
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->shape = engine::Shape::kKeyed;
  factory->state_signature = model::CoderSignature<KV<K, V>>();
  factory->new_sender = [] { return std::make_unique<engine::KeyedExchange<K, V>>(); };
  factory->new_operator = std::move(new_operator);
  return factory;
}

}  // namespace internal

// All values of a key and window, in the order in which they came, at each firing of the trigger.
class GroupByKey : public PTransform {
 public:
  template <typename K, typename V>
  PCollection<KV<K, std::vector<V>>> Expand(const PCollection<KV<K, V>>& collection, const std::string& name) const {
    const PCollection<KV<K, V>> input = internal::InEachWindow(collection, name);
    const WindowingStrategy strategy = input.windowing();
    internal::CheckGrouping(input.pipeline(), name, strategy, input.bounded());
    auto factory = internal::KeyedFactory<K, V>(
        [strategy] { return internal::NewGrouping(strategy, engine::GroupValues<K, V>{}); });
    return internal::Handle<KV<K, std::vector<V>>>(
        input.pipeline(), input.pipeline().Add(name, "beam:transform:group_by_key:v1", {input.id()}, std::move(factory),
                                               {internal::AfterGrouping(strategy)}, input.bounded()));
  }
};

// The first element of each key in its window; those that follow are dropped. Elements pass at once, with their
// timestamp and window; an element that comes after its window has expired is dropped as late.
class DeduplicatePerWindow : public PTransform {
 public:
  template <typename K, typename V>
  PCollection<KV<K, V>> Expand(const PCollection<KV<K, V>>& collection, const std::string& name) const {
    const PCollection<KV<K, V>> input = internal::InEachWindow(collection, name);
    const WindowingStrategy strategy = input.windowing();
    if (strategy.merges()) {
      input.pipeline().NoteMistake(absl::InvalidArgumentError(
          absl::StrCat("'", name, "' drops what comes again in a window, and windows of ", ToString(strategy.window_fn),
                       " are not settled until they are grouped; give it windows that do not merge")));
    }
    auto factory = internal::KeyedFactory<K, V>(
        [strategy] { return std::make_unique<engine::DeduplicateOperator<K, V>>(strategy); });
    return internal::Handle<KV<K, V>>(
        input.pipeline(), input.pipeline().Add(name, "hornbeam:transform:deduplicate_per_window:v1", {input.id()},
                                               std::move(factory), {strategy}, input.bounded()));
  }
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_GROUP_BY_KEY_H_
