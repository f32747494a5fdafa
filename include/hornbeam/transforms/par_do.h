// ParDo, Map, FlatMap, Filter: user code on every element.
//
//   lines | "Parse" >> ParDo<Event>([](const std::string& line, OutputReceiver<Event>& out) { ... });
//
// A DoFn is a lambda, or an object with a method ProcessElement, that takes
//   - the element: by const&, or by && (then it may be moved from, and a failed one is not tried a second time);
//   - if it likes, a `const ElementContext&`: timestamp, window, pane;
//   - an OutputReceiver<T>& for each output.
// An object may also have Setup, StartBundle, FinishBundle and Teardown (engine/operators/do_fn_lifecycle.h says when they are
// called), and metrics as members (hornbeam/metrics.h):
//
//   struct Send {
//     std::vector<Row> rows;
//     void ProcessElement(const Row& row, OutputReceiver<Answer>& out) { rows.push_back(row); }
//     void FinishBundle(BundleOutput<Answer>& out) { for (Answer& a : Call(rows)) out.Output(a, a.time, Window::Global()); ... }
//   };
//
// It runs on all workers at once, each with its own copy, and fails an element by throwing. What then happens is said with
// OnFailure; the default is kFail, and kDeadLetter as soon as WithFailures asks for the failed elements:
//
//   auto parsed = lines | "Parse" >> ParDo<Event>(parse).WithFailures();
//   parsed.main() | ...;  parsed.failures() | "DeadLetter" >> ...;
//
// Where nobody reads failures(), a failed element fails the job whatever was asked for.
//
// A DoFn that keeps state by key, or sets timers, is described in hornbeam/state.h; one whose work on an element can be split, so
// that it may go on for ever, in hornbeam/splittable.h.
//
// Several outputs have tags:
//
//   const OutputTag<Event> kEvents{"events"};
//   const OutputTag<std::string> kBad{"bad"};
//   auto parsed = lines | "Parse" >> ParDo(parse).WithOutputs(kEvents, kBad);   // parse(line, events, bad)
//   parsed.Get(kBad) | ...;
#ifndef HORNBEAM_TRANSFORMS_PAR_DO_H_
#define HORNBEAM_TRANSFORMS_PAR_DO_H_

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/operators/par_do.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/transforms/window.h"
#include "model/coder_signature.h"

namespace hornbeam {

using engine::BundleFinalizer;
using engine::BundleOutput;
using engine::ElementContext;
using engine::OutputReceiver;

struct StatefulDoFn;        // hornbeam/state.h
struct SplittableDoFnBase;  // hornbeam/splittable.h

template <typename T>
struct OutputTag {
  std::string name;
};

// The outputs of one ParDo.
template <typename... Outs>
class PCollectionTuple {
 public:
  PCollectionTuple(std::vector<std::string> names, std::tuple<PCollection<Outs>...> collections,
                   PCollection<FailedElement> failures)
      : names_(std::move(names)), collections_(std::move(collections)), failures_(failures) {}

  // The first output.
  auto main() const { return std::get<0>(collections_); }
  template <size_t I>
  auto Get() const {
    return std::get<I>(collections_);
  }
  // A tag that was given to WithOutputs. Another is a mistake, which Run reports.
  template <typename T>
  PCollection<T> Get(const OutputTag<T>& tag) const {
    const PCollection<T>* found = nullptr;
    size_t i = 0;
    std::apply([&](const auto&... collection) { (Match(tag, names_[i++], collection, &found), ...); }, collections_);
    if (found != nullptr) return *found;
    Pipeline& pipeline = failures_.pipeline();
    pipeline.NoteMistake(absl::InvalidArgumentError(
        absl::StrCat("a ParDo with the outputs '", absl::StrJoin(names_, "', '"), "' has none called '", tag.name,
                     "' of the type asked for; Get takes a tag that was given to WithOutputs")));
    return PCollection<T>(&pipeline, model::PCollectionId{-1});
  }
  // Elements that the DoFn failed on; of a ParDo that was applied WithFailures.
  PCollection<FailedElement> failures() const { return failures_; }

 private:
  template <typename T, typename U>
  static void Match(const OutputTag<T>& tag, const std::string& name, const PCollection<U>& candidate,
                    const PCollection<T>** found) {
    if constexpr (std::is_same_v<T, U>) {
      if (name == tag.name) *found = &candidate;
    }
  }

  std::vector<std::string> names_;
  std::tuple<PCollection<Outs>...> collections_;
  PCollection<FailedElement> failures_;
};

namespace internal {

// Calls a DoFn in whichever form it has.
template <typename Fn>
struct DoFnCaller {
  Fn fn;
  Fn& do_fn() { return fn; }
  // Whether it is given the context of elements of In, and with it their windows.
  template <typename In, typename... Receivers>
  static constexpr bool kLooksAtWindows =
      std::is_invocable_v<Fn&, const In&, const ElementContext&, Receivers&...> ||
      std::is_invocable_v<Fn&, In&&, const ElementContext&, Receivers&...> ||
      requires(Fn& f, const In& e, const ElementContext& c, Receivers&... r) { f.ProcessElement(e, c, r...); } ||
      requires(Fn& f, In&& e, const ElementContext& c, Receivers&... r) { f.ProcessElement(std::move(e), c, r...); };

  template <typename Element, typename... Receivers>
    requires(std::is_invocable_v<Fn&, Element, const ElementContext&, Receivers&...> ||
             std::is_invocable_v<Fn&, Element, Receivers&...> ||
             requires(Fn& f, Element e, const ElementContext& c, Receivers&... r) {
               f.ProcessElement(static_cast<Element>(e), c, r...);
             } || requires(Fn& f, Element e, Receivers&... r) { f.ProcessElement(static_cast<Element>(e), r...); })
  void operator()(Element&& element, const ElementContext& context, Receivers&... receivers) {
    if constexpr (std::is_invocable_v<Fn&, Element, const ElementContext&, Receivers&...>) {
      fn(std::forward<Element>(element), context, receivers...);
    } else if constexpr (std::is_invocable_v<Fn&, Element, Receivers&...>) {
      fn(std::forward<Element>(element), receivers...);
    } else if constexpr (requires { fn.ProcessElement(std::forward<Element>(element), context, receivers...); }) {
      fn.ProcessElement(std::forward<Element>(element), context, receivers...);
    } else {
      fn.ProcessElement(std::forward<Element>(element), receivers...);
    }
  }
};

// What a Map function returns, in whichever form it takes its element.
template <typename Fn, typename In>
auto MapResult() {
  if constexpr (std::is_invocable_v<Fn&, const In&>) {
    return std::type_identity<std::invoke_result_t<Fn&, const In&>>{};
  } else if constexpr (std::is_invocable_v<Fn&, const In&, const ElementContext&>) {
    return std::type_identity<std::invoke_result_t<Fn&, const In&, const ElementContext&>>{};
  } else if constexpr (std::is_invocable_v<Fn&, In&&>) {
    return std::type_identity<std::invoke_result_t<Fn&, In&&>>{};
  } else {
    return std::type_identity<std::invoke_result_t<Fn&, In&&, const ElementContext&>>{};
  }
}

template <typename Fn>
struct MapCaller {
  Fn fn;
  template <typename In, typename... Receivers>
  static constexpr bool kLooksAtWindows = std::is_invocable_v<Fn&, const In&, const ElementContext&> ||
                                          std::is_invocable_v<Fn&, In&&, const ElementContext&>;

  template <typename Element, typename Out>
    requires(std::is_invocable_v<Fn&, Element> || std::is_invocable_v<Fn&, Element, const ElementContext&>)
  void operator()(Element&& element, const ElementContext& context, OutputReceiver<Out>& out) {
    if constexpr (std::is_invocable_v<Fn&, Element, const ElementContext&>) {
      out.Output(fn(std::forward<Element>(element), context));
    } else {
      out.Output(fn(std::forward<Element>(element)));
    }
  }
};

template <typename Fn>
struct FilterCaller {
  Fn fn;
  template <typename In, typename... Receivers>
  static constexpr bool kLooksAtWindows = false;

  template <typename Element, typename Out>
  void operator()(Element&& element, const ElementContext& context, OutputReceiver<Out>& out) {
    if (fn(std::as_const(element))) out.Output(std::forward<Element>(element));
  }
};

struct ParDoSettings {
  FailurePolicy policy = FailurePolicy::kFail;
  std::vector<std::string> output_names;
  Duration state_ttl{};
};

// Adds a ParDo with these outputs, and one of failed elements, to the graph.
template <typename... Outs, typename In>
PCollectionTuple<Outs...> AddParDo(const PCollection<In>& input, const std::string& name,
                                   std::shared_ptr<engine::OperatorFactory> factory, const ParDoSettings& settings) {
  Pipeline& pipeline = input.pipeline();
  const std::vector<WindowingStrategy> windowing(sizeof...(Outs) + 1, input.windowing());
  const std::vector<model::PCollectionId> ids =
      pipeline.Add(name, "beam:transform:pardo:v1", {input.id()}, std::move(factory), windowing, input.bounded());
  if (settings.policy == FailurePolicy::kRetry && !ids.empty()) pipeline.NoteParking();
  if (pipeline.sliced(input.id())) {
    for (const model::PCollectionId id : ids) pipeline.MarkSliced(id);
  }
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return PCollectionTuple<Outs...>(settings.output_names, {Handle<Outs>(pipeline, ids, I)...},
                                     Handle<FailedElement>(pipeline, ids, sizeof...(Outs)));
  }(std::index_sequence_for<Outs...>());
}

// What the log has of parked elements.
template <typename In>
std::string ParkedSignature() {
  if constexpr (model::Codable<In>) return "parked " + model::CoderSignature<In>();
  return {};
}

template <typename In, typename... Outs, typename Caller>
PCollectionTuple<Outs...> ApplyParDo(const PCollection<In>& input, const std::string& name, const Caller& caller,
                                     const ParDoSettings& settings) {
  if (Caller::template kLooksAtWindows<In, OutputReceiver<Outs>...> && input.pipeline().sliced(input.id())) {
    return ApplyParDo<In, Outs...>(InEachWindow(input, name), name, caller, settings);
  }
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->shape = engine::Shape::kElementwise;
  if (settings.policy == FailurePolicy::kRetry) factory->state_signature = ParkedSignature<In>();
  factory->new_operator = [caller, policy = settings.policy] {
    return std::make_unique<engine::ParDoOperator<In, Caller, Outs...>>(caller, policy);
  };
  return AddParDo<Outs...>(input, name, std::move(factory), settings);
}

// Defined in hornbeam/state.h, which whoever has a StatefulDoFn includes.
template <typename In, typename... Outs, typename Caller>
PCollectionTuple<Outs...> ApplyStatefulParDo(const PCollection<In>& input, const std::string& name, const Caller& caller,
                                             const ParDoSettings& settings);

// Defined in hornbeam/splittable.h, which whoever has a SplittableDoFn includes.
template <typename In, typename... Outs, typename Fn>
PCollectionTuple<Outs...> ApplySplittableParDo(const PCollection<In>& input, const std::string& name, const Fn& fn,
                                               const ParDoSettings& settings);

// Whichever the DoFn is.
template <typename Fn, typename In, typename... Outs>
PCollectionTuple<Outs...> ApplyDoFn(const PCollection<In>& input, const std::string& name, const DoFnCaller<Fn>& caller,
                                    const ParDoSettings& settings) {
  if constexpr (std::is_base_of_v<StatefulDoFn, Fn>) {
    return ApplyStatefulParDo<In, Outs...>(input, name, caller, settings);
  } else if constexpr (std::is_base_of_v<SplittableDoFnBase, Fn>) {
    return ApplySplittableParDo<In, Outs...>(input, name, caller.fn, settings);
  } else {
    return ApplyParDo<In, Outs...>(input, name, caller, settings);
  }
}

}  // namespace internal

template <typename Fn, typename... Outs>
class ParDoTransform : public PTransform {
 public:
  ParDoTransform(Fn fn, internal::ParDoSettings settings) : caller_{std::move(fn)}, settings_(std::move(settings)) {}

  // What happens to an element on which the DoFn throws.
  ParDoTransform OnFailure(FailurePolicy policy) const {
    ParDoTransform changed = *this;
    changed.settings_.policy = policy;
    return changed;
  }

  template <typename In>
  auto Expand(const PCollection<In>& input, const std::string& name) const {
    PCollectionTuple<Outs...> outputs = internal::ApplyDoFn<Fn, In, Outs...>(input, name, caller_, settings_);
    if constexpr (sizeof...(Outs) == 1) {
      return outputs.main();
    } else {
      return outputs;
    }
  }

 protected:
  internal::DoFnCaller<Fn> caller_;
  internal::ParDoSettings settings_;
};

// A ParDo whose result is all its outputs, failures among them.
template <typename Fn, typename... Outs>
class MultiOutputParDo : public PTransform {
 public:
  MultiOutputParDo(Fn fn, internal::ParDoSettings settings) : caller_{std::move(fn)}, settings_(std::move(settings)) {}

  // Failed elements become dead letters: PCollectionTuple::failures().
  MultiOutputParDo WithFailures() const { return OnFailure(FailurePolicy::kDeadLetter); }
  // Of a StatefulDoFn (hornbeam/state.h).
  MultiOutputParDo WithStateTtl(Duration ttl) const {
    MultiOutputParDo changed = *this;
    changed.settings_.state_ttl = ttl;
    return changed;
  }
  MultiOutputParDo OnFailure(FailurePolicy policy) const {
    MultiOutputParDo changed = *this;
    changed.settings_.policy = policy;
    return changed;
  }

  template <typename In>
  PCollectionTuple<Outs...> Expand(const PCollection<In>& input, const std::string& name) const {
    return internal::ApplyDoFn<Fn, In, Outs...>(input, name, caller_, settings_);
  }

 private:
  internal::DoFnCaller<Fn> caller_;
  internal::ParDoSettings settings_;
};

// One output, whose type is given.
template <typename Out, typename Fn>
class SingleOutputParDo : public ParDoTransform<Fn, Out> {
 public:
  using ParDoTransform<Fn, Out>::ParDoTransform;

  // Failed elements become dead letters; the result is a PCollectionTuple with main() and failures().
  MultiOutputParDo<Fn, Out> WithFailures() const {
    internal::ParDoSettings settings = this->settings_;
    settings.policy = FailurePolicy::kDeadLetter;
    return MultiOutputParDo<Fn, Out>(this->caller_.fn, std::move(settings));
  }
  // Of a StatefulDoFn (hornbeam/state.h).
  SingleOutputParDo WithStateTtl(Duration ttl) const {
    SingleOutputParDo changed = *this;
    changed.settings_.state_ttl = ttl;
    return changed;
  }
};

// No output type given yet: WithOutputs gives them.
template <typename Fn>
class UntypedParDo {
 public:
  explicit UntypedParDo(Fn fn) : fn_(std::move(fn)) {}

  template <typename... Outs>
  MultiOutputParDo<Fn, Outs...> WithOutputs(const OutputTag<Outs>&... tags) const {
    return MultiOutputParDo<Fn, Outs...>(fn_, {FailurePolicy::kFail, {tags.name...}, {}});
  }

 private:
  Fn fn_;
};

template <typename Out, typename Fn>
SingleOutputParDo<Out, Fn> ParDo(Fn fn) {
  return SingleOutputParDo<Out, Fn>(std::move(fn), {FailurePolicy::kFail, {"main"}, {}});
}
template <typename Fn>
UntypedParDo<Fn> ParDo(Fn fn) {
  return UntypedParDo<Fn>(std::move(fn));
}

// out = fn(element) or fn(element, context).
template <typename Fn>
class MapTransform : public PTransform {
 public:
  explicit MapTransform(Fn fn) : fn_(std::move(fn)) {}

  template <typename In>
  auto Expand(const PCollection<In>& input, const std::string& name) const {
    using Out = std::decay_t<typename decltype(internal::MapResult<Fn, In>())::type>;
    return internal::ApplyParDo<In, Out>(input, name, internal::MapCaller<Fn>{fn_}, {FailurePolicy::kFail, {"main"}, {}})
        .main();
  }

 private:
  Fn fn_;
};

template <typename Fn>
MapTransform<Fn> Map(Fn fn) {
  return MapTransform<Fn>(std::move(fn));
}

// Keeps the elements for which fn(element) is true.
template <typename Fn>
class FilterTransform : public PTransform {
 public:
  explicit FilterTransform(Fn fn) : fn_(std::move(fn)) {}

  template <typename In>
  PCollection<In> Expand(const PCollection<In>& input, const std::string& name) const {
    return internal::ApplyParDo<In, In>(input, name, internal::FilterCaller<Fn>{fn_}, {FailurePolicy::kFail, {"main"}, {}})
        .main();
  }

 private:
  Fn fn_;
};

template <typename Fn>
FilterTransform<Fn> Filter(Fn fn) {
  return FilterTransform<Fn>(std::move(fn));
}

// KV{fn(element), element}.
template <typename Fn>
auto WithKeys(Fn fn) {
  return Map([fn = std::move(fn)](const auto& element) { return KV{fn(element), element}; });
}

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_PAR_DO_H_
