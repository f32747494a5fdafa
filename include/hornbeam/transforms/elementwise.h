// FlatMap, Keys, Values, KvSwap, Partition: what has no state. (ParDo, Map, Filter and WithKeys are in par_do.h.)
#ifndef HORNBEAM_TRANSFORMS_ELEMENTWISE_H_
#define HORNBEAM_TRANSFORMS_ELEMENTWISE_H_

#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/operators/partition.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/transforms/par_do.h"

namespace hornbeam {

namespace internal {

template <typename Fn>
struct FlatMapCaller {
  MapCaller<Fn> map;
  template <typename In, typename... Receivers>
  static constexpr bool kLooksAtWindows = MapCaller<Fn>::template kLooksAtWindows<In, Receivers...>;

  template <typename Element, typename Out>
    requires(std::is_invocable_v<Fn&, Element> || std::is_invocable_v<Fn&, Element, const ElementContext&>)
  void operator()(Element&& element, const ElementContext& context, OutputReceiver<Out>& out) {
    if constexpr (std::is_invocable_v<Fn&, Element, const ElementContext&>) {
      for (auto&& value : map.fn(std::forward<Element>(element), context)) out.Output(Out(std::forward<decltype(value)>(value)));
    } else {
      for (auto&& value : map.fn(std::forward<Element>(element))) out.Output(Out(std::forward<decltype(value)>(value)));
    }
  }
};

}  // namespace internal

// Every value of the range fn(element), or fn(element, context), is an element. The range is the function's result, a container or
// a view of the element.
template <typename Fn>
class FlatMapTransform : public PTransform {
 public:
  explicit FlatMapTransform(Fn fn) : fn_(std::move(fn)) {}

  template <typename In>
  auto Expand(const PCollection<In>& input, const std::string& name) const {
    using Values = std::decay_t<typename decltype(internal::MapResult<Fn, In>())::type>;
    using Out = std::decay_t<std::ranges::range_value_t<Values>>;
    return internal::ApplyParDo<In, Out>(input, name, internal::FlatMapCaller<Fn>{{fn_}}, {FailurePolicy::kFail, {"main"}, {}})
        .main();
  }

 private:
  Fn fn_;
};

template <typename Fn>
FlatMapTransform<Fn> FlatMap(Fn fn) {
  return FlatMapTransform<Fn>(std::move(fn));
}

inline auto Keys() {
  return Map([](const auto& kv) { return kv.key; });
}
inline auto Values() {
  return Map([](const auto& kv) { return kv.value; });
}
inline auto KvSwap() {
  return Map([](const auto& kv) { return KV{kv.value, kv.key}; });
}

// One collection for each number from 0 to n - 1, with the elements for which fn(element) is that number. Another number fails the
// job.
template <typename Fn>
class PartitionTransform : public PTransform {
 public:
  PartitionTransform(int n, Fn fn) : n_(n), fn_(std::move(fn)) {}

  template <typename T>
  std::vector<PCollection<T>> Expand(const PCollection<T>& input, const std::string& name) const {
    Pipeline& pipeline = input.pipeline();
    if (n_ < 1) {
      pipeline.NoteMistake(
          absl::InvalidArgumentError(absl::StrCat("'", name, "' is to make ", n_, " partitions; there has to be one at least")));
      return {};
    }
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->new_operator = [fn = fn_] { return std::make_unique<engine::PartitionOperator<T>>(fn); };
    const std::vector<model::PCollectionId> ids =
        pipeline.Add(name, "beam:transform:partition:v1", {input.id()}, std::move(factory),
                     std::vector<WindowingStrategy>(static_cast<size_t>(n_), input.windowing()), input.bounded());
    std::vector<PCollection<T>> parts;
    for (size_t i = 0; i < static_cast<size_t>(n_); ++i) {
      parts.push_back(internal::Handle<T>(pipeline, ids, i));
      if (i < ids.size() && pipeline.sliced(input.id())) pipeline.MarkSliced(ids[i]);
    }
    return parts;
  }

 private:
  int n_;
  Fn fn_;
};

template <typename Fn>
PartitionTransform<Fn> Partition(int n, Fn fn) {
  return PartitionTransform<Fn>(n, std::move(fn));
}

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_ELEMENTWISE_H_
