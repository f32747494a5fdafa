// Side inputs: a ParDo sees, beside each element, all of another collection in one window (Beam's PCollectionView).
//
//   const auto rates = pipeline | "Rates" >> ... | "RatesView" >> AsMap();           // PCollection<KV<std::string, double>>
//   orders | "Convert" >> MapWithSideInputs(
//       [](const Order& order, const auto& rates) { return order.amount * rates.at(order.currency); }, rates);
//
// A view is AsSingleton() (const T&), AsSingleton(default), AsList() (const std::vector<T>&; Beam's AsIterable as well), AsMap()
// (const absl::flat_hash_map<K, V>&) or AsMultimap() (of K to std::vector<V>). It is gathered by window under its collection's
// trigger; what a DoFn sees is the newest pane that has come, in the window of the side input that its own element's window maps to:
// the one of its last instant.
//
// An element waits until there is something to see: until a pane has come, or the side input's watermark has passed the end of the
// window, which then is empty. What waits is durable, is held in memory, and holds the watermark. A side input in the global window
// that never ends needs a trigger, as Repeatedly(AfterCount(1)).
//
// All views of all workers share one copy.
//
// FilterWithSideInputs keeps what a function of the element and the views says; ParDoWithSideInputs takes a DoFn, with one output or,
// WithOutputs, several, and OnFailure and WithFailures as ParDo has them (hornbeam/transforms/par_do.h).
#ifndef HORNBEAM_TRANSFORMS_SIDE_INPUT_H_
#define HORNBEAM_TRANSFORMS_SIDE_INPUT_H_

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/operators/side_input_par_do.h"
#include "hornbeam/transforms/group_by_key.h"
#include "hornbeam/transforms/par_do.h"
#include "hornbeam/transforms/window.h"
#include "model/coder_signature.h"

namespace hornbeam {

// What View transforms give. `Access` turns the engine's view into what the DoFn sees.
template <typename View, typename Access>
struct PCollectionView {
  PCollection<engine::SideUpdate<View>> updates;
  Access access;
};

namespace internal {

struct SeeAll {
  template <typename View>
  decltype(auto) operator()(const View& view) const {
    return view.Get();
  }
};
template <typename T>
struct SeeOr {
  T otherwise;
  const T& operator()(const engine::SingletonView<T>& view) const { return view.GetOr(otherwise); }
};

// Gathers a collection, window by window and pane by pane, on one worker.
template <typename View, typename T, typename Access>
PCollectionView<View, Access> MakeView(const PCollection<T>& input, const std::string& name, Access access) {
  using Grouped = KV<bool, std::vector<T>>;
  const auto grouped = input | NamedTransform{absl::StrCat(name, "/OneKey"), Map([](const T& element) { return KV<bool, T>{true, element}; })}
                             | NamedTransform{absl::StrCat(name, "/Gather"), GroupByKey()};
  const bool accumulates = input.windowing().accumulation_mode == AccumulationMode::kAccumulating;
  const auto make = [accumulates](const Grouped& pane, const ElementContext& context) {
    engine::SideUpdate<View> update{context.window(), std::make_shared<const View>(View::Make(pane.value))};
    if (accumulates) update.accumulated = std::make_shared<const std::vector<T>>(pane.value);
    return update;
  };
  const auto updates = grouped | NamedTransform{absl::StrCat(name, "/View"), Map(make)};
  return {updates, std::move(access)};
}

// Calls a DoFn that takes (element, [context,] views..., outputs...).
template <typename Fn, typename... Access>
struct SideInputCaller {
  Fn fn;
  std::tuple<Access...> access;

  template <typename In, typename... Rest>
  void operator()(const In& element, const ElementContext& context, Rest&... rest) {
    Call(element, context, std::index_sequence_for<Access...>(), rest...);
  }

 private:
  template <typename In, size_t... I, typename... Rest>
  void Call(const In& element, const ElementContext& context, std::index_sequence<I...> views, Rest&... rest) {
    const auto all = std::tie(rest...);
    Receive(element, context, views, all, std::make_index_sequence<sizeof...(Rest) - sizeof...(Access)>());
  }
  template <typename In, size_t... I, typename All, size_t... O>
  void Receive(const In& element, const ElementContext& context, std::index_sequence<I...>, const All& all, std::index_sequence<O...>) {
    Invoke(element, context, std::forward_as_tuple(std::get<I>(access)(std::get<I>(all))...),
           std::tie(std::get<sizeof...(I) + O>(all)...));
  }
  template <typename In, typename Views, typename Outputs>
  void Invoke(const In& element, const ElementContext& context, const Views& views, const Outputs& outputs) {
    std::apply(
        [&](const auto&... view) {
          std::apply(
              [&](auto&... output) {
                if constexpr (std::is_invocable_v<Fn&, const In&, const ElementContext&, decltype(view)..., decltype(output)...>) {
                  fn(element, context, view..., output...);
                } else {
                  fn(element, view..., output...);
                }
              },
              outputs);
        },
        views);
  }
};

template <typename View>
engine::SideInput<View> SideInputOf(const PCollection<engine::SideUpdate<View>>& updates) {
  return engine::SideInput<View>(updates.windowing().window_fn);
}

// Adds the ParDo of `fn` to the graph.
template <typename In, typename... Outs, typename Fn, typename... Views, typename... Access>
PCollectionTuple<Outs...> ApplySideInputParDo(const PCollection<In>& main, const std::string& name, const Fn& fn, ParDoSettings settings,
                                              const std::tuple<PCollectionView<Views, Access>...>& views) {
  static_assert(model::Codable<In>, "elements that may wait for a side input need a coder: see model/coder.h");
  using Caller = SideInputCaller<Fn, Access...>;
  using Operator = engine::SideInputParDoOperator<In, Caller, std::tuple<Views...>, Outs...>;
  const PCollection<In> input = InEachWindow(main, name);
  Pipeline& pipeline = input.pipeline();
  std::vector<model::PCollectionId> inputs = {input.id()};
  std::apply([&](const auto&... view) { (inputs.push_back(view.updates.id()), ...); }, views);
  const auto sides = std::apply([](const auto&... view) { return std::tuple(SideInputOf(view.updates)...); }, views);
  const Caller caller{fn, std::apply([](const auto&... view) { return std::tuple(view.access...); }, views)};
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->shape = engine::Shape::kSideInput;
  factory->state_signature = absl::StrCat("waiting ", model::CoderSignature<In>());
  ((factory->state_signature += absl::StrCat(", view ", model::CoderSignature<typename Views::Element>())), ...);
  factory->new_operator = [caller, policy = settings.policy, lateness = input.windowing().allowed_lateness, sides,
                           times = std::make_shared<engine::MarkerTimes>()] {
    return std::make_unique<Operator>(caller, policy, lateness, times, sides);
  };
  const std::vector<WindowingStrategy> windowing(sizeof...(Outs) + 1, input.windowing());
  const std::vector<model::PCollectionId> ids =
      pipeline.Add(name, "beam:transform:pardo:v1", std::move(inputs), std::move(factory), windowing, input.bounded());
  if (settings.policy == FailurePolicy::kRetry && !ids.empty()) pipeline.NoteParking();
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return PCollectionTuple<Outs...>(settings.output_names, {Handle<Outs>(pipeline, ids, I)...},
                                     Handle<FailedElement>(pipeline, ids, sizeof...(Outs)));
  }(std::index_sequence_for<Outs...>());
}

// A DoFn of a function of the element and the views: `then` makes output of what it returns.
template <typename Fn, typename Then>
struct SideInputFunction {
  Fn fn;
  Then then;

  template <typename In, typename... Rest>
  void operator()(const In& element, const ElementContext& context, Rest&... rest) {
    Call(element, context, std::tie(rest...), std::make_index_sequence<sizeof...(Rest) - 1>());
  }

 private:
  template <typename In, typename All, size_t... I>
  void Call(const In& element, const ElementContext& context, const All& all, std::index_sequence<I...>) {
    auto& out = std::get<sizeof...(I)>(all);  // the last one; views stand before it
    if constexpr (std::is_invocable_v<Fn&, const In&, const ElementContext&, decltype(std::get<I>(all))...>) {
      then(element, fn(element, context, std::get<I>(all)...), out);
    } else {
      then(element, fn(element, std::get<I>(all)...), out);
    }
  }
};
template <typename Fn, typename Then>
SideInputFunction(Fn, Then) -> SideInputFunction<Fn, Then>;

template <typename Fn, typename In, typename Views>
struct SideInputMapResult;
template <typename Fn, typename In, typename... Views, typename... Access>
struct SideInputMapResult<Fn, In, std::tuple<PCollectionView<Views, Access>...>> {
  template <typename View, typename See>
  using Seen = decltype(std::declval<const See&>()(std::declval<const View&>()));
  static auto Get() {
    if constexpr (std::is_invocable_v<Fn&, const In&, const ElementContext&, Seen<Views, Access>...>) {
      return std::type_identity<std::decay_t<std::invoke_result_t<Fn&, const In&, const ElementContext&, Seen<Views, Access>...>>>{};
    } else {
      return std::type_identity<std::decay_t<std::invoke_result_t<Fn&, const In&, Seen<Views, Access>...>>>{};
    }
  }
  using type = typename decltype(Get())::type;
};

}  // namespace internal

// The only element of a window. Where there is none, or more than one, elements that see it fail, unless there is a default for none.
class AsSingleton : public PTransform {
 public:
  template <typename T>
  auto Expand(const PCollection<T>& input, const std::string& name) const {
    return internal::MakeView<engine::SingletonView<T>>(input, name, internal::SeeAll{});
  }
};
template <typename T>
class AsSingletonOr : public PTransform {
 public:
  explicit AsSingletonOr(T otherwise) : otherwise_(std::move(otherwise)) {}
  auto Expand(const PCollection<T>& input, const std::string& name) const {
    return internal::MakeView<engine::SingletonView<T>>(input, name, internal::SeeOr<T>{otherwise_});
  }

 private:
  T otherwise_;
};
class AsList : public PTransform {
 public:
  template <typename T>
  auto Expand(const PCollection<T>& input, const std::string& name) const {
    return internal::MakeView<engine::ListView<T>>(input, name, internal::SeeAll{});
  }
};
class AsMap : public PTransform {
 public:
  template <typename K, typename V>
  auto Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    return internal::MakeView<engine::MapView<K, V>>(input, name, internal::SeeAll{});
  }
};
class AsMultimap : public PTransform {
 public:
  template <typename K, typename V>
  auto Expand(const PCollection<KV<K, V>>& input, const std::string& name) const {
    return internal::MakeView<engine::MultimapView<K, V>>(input, name, internal::SeeAll{});
  }
};

// ParDo whose DoFn, a lambda or function object, takes (const In&, [const ElementContext&,] views..., OutputReceiver<Outs>&...). Its
// result is all outputs, failures among them.
template <typename Views, typename Fn, typename... Outs>
class MultiOutputSideInputParDo : public PTransform {
 public:
  MultiOutputSideInputParDo(Fn fn, Views views, internal::ParDoSettings settings)
      : fn_(std::move(fn)), views_(std::move(views)), settings_(std::move(settings)) {}

  // Failed elements become dead letters: PCollectionTuple::failures().
  MultiOutputSideInputParDo WithFailures() const { return OnFailure(FailurePolicy::kDeadLetter); }
  // What happens to an element on which the DoFn throws. One that is tried again sees the newest panes that there are then.
  MultiOutputSideInputParDo OnFailure(FailurePolicy policy) const {
    MultiOutputSideInputParDo changed = *this;
    changed.settings_.policy = policy;
    return changed;
  }

  template <typename In>
  PCollectionTuple<Outs...> Expand(const PCollection<In>& input, const std::string& name) const {
    return internal::ApplySideInputParDo<In, Outs...>(input, name, fn_, settings_, views_);
  }

 private:
  Fn fn_;
  Views views_;
  internal::ParDoSettings settings_;
};

// The same with one output, which is the result.
template <typename Views, typename Fn, typename Out>
class SideInputParDo : public PTransform {
 public:
  explicit SideInputParDo(MultiOutputSideInputParDo<Views, Fn, Out> par_do) : par_do_(std::move(par_do)) {}

  // The result is then a PCollectionTuple with main() and failures().
  MultiOutputSideInputParDo<Views, Fn, Out> WithFailures() const { return par_do_.WithFailures(); }
  SideInputParDo OnFailure(FailurePolicy policy) const { return SideInputParDo(par_do_.OnFailure(policy)); }

  template <typename In>
  PCollection<Out> Expand(const PCollection<In>& input, const std::string& name) const {
    return par_do_.Expand(input, name).main();
  }

 private:
  MultiOutputSideInputParDo<Views, Fn, Out> par_do_;
};

// No output type given yet: WithOutputs gives them.
template <typename Views, typename Fn>
class UntypedSideInputParDo {
 public:
  UntypedSideInputParDo(Fn fn, Views views) : fn_(std::move(fn)), views_(std::move(views)) {}

  template <typename... Outs>
  MultiOutputSideInputParDo<Views, Fn, Outs...> WithOutputs(const OutputTag<Outs>&... tags) const {
    return {fn_, views_, {FailurePolicy::kFail, {tags.name...}, {}}};
  }

 private:
  Fn fn_;
  Views views_;
};

template <typename Out, typename Fn, typename... Views, typename... Access>
auto ParDoWithSideInputs(Fn fn, PCollectionView<Views, Access>... views) {
  using All = std::tuple<PCollectionView<Views, Access>...>;
  return SideInputParDo<All, Fn, Out>(
      MultiOutputSideInputParDo<All, Fn, Out>(std::move(fn), {std::move(views)...}, {FailurePolicy::kFail, {"main"}, {}}));
}
template <typename Fn, typename... Views, typename... Access>
auto ParDoWithSideInputs(Fn fn, PCollectionView<Views, Access>... views) {
  return UntypedSideInputParDo<std::tuple<PCollectionView<Views, Access>...>, Fn>(std::move(fn), {std::move(views)...});
}

// out = fn(element, [context,] views...).
template <typename Views, typename Fn>
class SideInputMap : public PTransform {
 public:
  SideInputMap(Fn fn, Views views) : fn_(std::move(fn)), views_(std::move(views)) {}

  template <typename In>
  auto Expand(const PCollection<In>& input, const std::string& name) const {
    using Out = typename internal::SideInputMapResult<Fn, In, Views>::type;
    const internal::SideInputFunction function{fn_, [](const In&, auto&& result, OutputReceiver<Out>& out) {
                                                 out.Output(std::forward<decltype(result)>(result));
                                               }};
    return internal::ApplySideInputParDo<In, Out>(input, name, function, {FailurePolicy::kFail, {"main"}, {}}, views_).main();
  }

 private:
  Fn fn_;
  Views views_;
};

template <typename Fn, typename... Views, typename... Access>
auto MapWithSideInputs(Fn fn, PCollectionView<Views, Access>... views) {
  return SideInputMap<std::tuple<PCollectionView<Views, Access>...>, Fn>(std::move(fn), {std::move(views)...});
}

// Keeps the elements for which fn(element, [context,] views...) is true.
template <typename Views, typename Fn>
class SideInputFilter : public PTransform {
 public:
  SideInputFilter(Fn fn, Views views) : fn_(std::move(fn)), views_(std::move(views)) {}

  template <typename In>
  PCollection<In> Expand(const PCollection<In>& input, const std::string& name) const {
    const internal::SideInputFunction function{fn_, [](const In& element, bool keep, OutputReceiver<In>& out) {
                                                 if (keep) out.Output(element);
                                               }};
    return internal::ApplySideInputParDo<In, In>(input, name, function, {FailurePolicy::kFail, {"main"}, {}}, views_).main();
  }

 private:
  Fn fn_;
  Views views_;
};

template <typename Fn, typename... Views, typename... Access>
auto FilterWithSideInputs(Fn fn, PCollectionView<Views, Access>... views) {
  return SideInputFilter<std::tuple<PCollectionView<Views, Access>...>, Fn>(std::move(fn), {std::move(views)...});
}

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_SIDE_INPUT_H_
