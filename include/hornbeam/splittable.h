// Splittable DoFns: the work on one element is a restriction that can be cut into parts, stopped and gone on with, by other workers and
// after a crash, and that may never end. docs/splittable_dofn.md tells more.
//
//   struct ReadFile : SplittableDoFn<OffsetRangeTracker> {
//     OffsetRange GetInitialRestriction(const std::string& file) { return {0, SizeOf(file)}; }
//     void SplitRestriction(const std::string& file, const OffsetRange& all, std::vector<OffsetRange>* parts) {    // may be left out
//       *parts = all.Split(64 << 20);
//     }
//     void ProcessElement(const std::string& file, RestrictionTracker& tracker, OutputReceiver<Record>& out) {
//       for (Record record : RecordsFrom(file, tracker.restriction().from)) {
//         if (!tracker.TryClaim(record.offset)) return;
//         out.Output(record);
//       }
//     }
//   };
//   files | "Read" >> ParDo<Record>(ReadFile());
//
// Every position is claimed before its output: what is not claimed is somebody else's. When TryClaim is false the call returns at once.
// ProcessElement takes the element, a `const ElementContext&` if it likes, the tracker, the watermark estimator if it likes, and its
// outputs. It returns nothing, or a ProcessContinuation: Resume(delay) where there is more, but not now.
//
// A DoFn that reads what never ends says so, and how far event time has come:
//
//   struct Poll : SplittableDoFn<OffsetRangeTracker, ManualWatermarkEstimator> {
//     static constexpr bool kUnbounded = true;
//     OffsetRange GetInitialRestriction(const Topic&) { return {0, OffsetRange::kEndless}; }
//     ProcessContinuation ProcessElement(const Topic& topic, RestrictionTracker& tracker, ManualWatermarkEstimator& watermark,
//                                        OutputReceiver<Message>& out) {
//       for (Message& message : topic.From(tracker.restriction().from)) {
//         if (!tracker.TryClaim(message.offset)) return ProcessContinuation::Stop();
//         out.OutputWithTimestamp(message, message.time);
//         watermark.SetWatermark(message.time);
//       }
//       return ProcessContinuation::Resume(Seconds(1));
//     }
//   };
//
// It may also have
//   EventTime GetInitialWatermarkEstimatorState(const In&, const Restriction&);   // otherwise the element's timestamp
//   std::optional<Restriction> TruncateRestriction(const In&, const Restriction&);
//       // what of it is still processed when the job drains; otherwise all of a bounded DoFn's, and nothing of an unbounded one's
//
// A restriction and a tracker of the program's own are described in engine/splittable/restriction_tracker.h.
#ifndef HORNBEAM_SPLITTABLE_H_
#define HORNBEAM_SPLITTABLE_H_

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/exchange/keyed_exchange.h"
#include "engine/splittable/offset_range.h"
#include "engine/splittable/slice_number.h"
#include "engine/splittable/splittable_par_do.h"
#include "engine/splittable/watermark_estimators.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/par_do.h"
#include "model/coder_signature.h"

namespace hornbeam {

using engine::ManualWatermarkEstimator;
using engine::MonotonicallyIncreasingWatermarkEstimator;
using engine::OffsetRange;
using engine::OffsetRangeTracker;
using engine::ProcessContinuation;
using engine::Progress;
using engine::WallTimeWatermarkEstimator;

// What tells ParDo that a DoFn is splittable.
struct SplittableDoFnBase {};

template <typename TrackerT, typename EstimatorT = engine::NoWatermarkEstimator>
struct SplittableDoFn : SplittableDoFnBase {
  using Tracker = TrackerT;
  using Restriction = typename TrackerT::Restriction;
  using RestrictionTracker = engine::RestrictionTracker<TrackerT>;  // what ProcessElement is given
  using WatermarkEstimator = EstimatorT;
  // Its restrictions may go on for ever.
  static constexpr bool kUnbounded = false;
};

namespace internal {

// Calls a splittable DoFn in whichever form it has.
template <typename Fn>
struct SplittableCaller {
  using Tracker = typename Fn::Tracker;
  using Restriction = typename Fn::Restriction;
  using Estimator = typename Fn::WatermarkEstimator;
  using Claims = engine::RestrictionTracker<Tracker>;

  Fn fn;

  template <typename In, typename... Receivers>
  ProcessContinuation Process(const In& element, const ElementContext& context, Claims& tracker, Estimator& estimator,
                              Receivers&... outs) {
    return Continuation([&]() -> decltype(auto) {
      if constexpr (requires { fn.ProcessElement(element, context, tracker, estimator, outs...); }) {
        return fn.ProcessElement(element, context, tracker, estimator, outs...);
      } else if constexpr (requires { fn.ProcessElement(element, context, tracker, outs...); }) {
        return fn.ProcessElement(element, context, tracker, outs...);
      } else if constexpr (requires { fn.ProcessElement(element, tracker, estimator, outs...); }) {
        return fn.ProcessElement(element, tracker, estimator, outs...);
      } else {
        return fn.ProcessElement(element, tracker, outs...);
      }
    });
  }

  template <typename In>
  std::optional<Restriction> Truncate(const In& element, const Restriction& restriction) {
    if constexpr (requires { fn.TruncateRestriction(element, restriction); }) {
      return fn.TruncateRestriction(element, restriction);
    } else {
      return Fn::kUnbounded ? std::nullopt : std::optional<Restriction>(restriction);
    }
  }

 private:
  template <typename Call>
  static ProcessContinuation Continuation(Call call) {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return ProcessContinuation::Stop();
    } else {
      return call();
    }
  }
};

// Gives each element its restriction, in the parts that the DoFn splits it into, which go to the workers in turn.
template <typename Fn, typename In>
struct PairWithRestriction {
  using Restriction = typename Fn::Restriction;
  using Restricted = engine::Restricted<In, Restriction>;

  Fn fn;
  std::optional<uint8_t> next_slice{};

  void ProcessElement(const In& element, const ElementContext& context, OutputReceiver<KV<engine::SliceNumber, Restricted>>& out) {
    const Restriction all = fn.GetInitialRestriction(element);
    std::vector<Restriction> parts;
    if constexpr (requires { fn.SplitRestriction(element, all, &parts); }) {
      fn.SplitRestriction(element, all, &parts);
    } else {
      parts.push_back(all);
    }
    for (Restriction& part : parts) {
      EventTime watermark = context.timestamp();
      if constexpr (requires { fn.GetInitialWatermarkEstimatorState(element, part); }) {
        watermark = fn.GetInitialWatermarkEstimatorState(element, part);
      }
      out.Output({NextSlice(element), Restricted{element, std::move(part), watermark}});
    }
  }

 private:
  // Begins where the first element says, so that the workers in front do not all begin with the same one behind.
  engine::SliceNumber NextSlice(const In& element) {
    if (!next_slice) next_slice = static_cast<uint8_t>(model::HashKey(element).slice());
    return {(*next_slice)++};
  }
};

template <typename In, typename... Outs, typename Fn>
PCollectionTuple<Outs...> ApplySplittableParDo(const PCollection<In>& collection, const std::string& name, const Fn& fn,
                                               const ParDoSettings& settings) {
  using Restriction = typename Fn::Restriction;
  using Restricted = engine::Restricted<In, Restriction>;
  using Paired = KV<engine::SliceNumber, Restricted>;
  using Operator = engine::SplittableParDoOperator<In, SplittableCaller<Fn>, Outs...>;
  static_assert(model::Codable<In>, "elements of a splittable DoFn are kept with their restriction and need a coder: see model/coder.h");
  static_assert(model::Codable<Restriction>, "a restriction is kept between calls and needs a coder: see model/coder.h");
  const PCollection<In> input = InEachWindow(collection, name);
  Pipeline& pipeline = input.pipeline();
  const PCollectionTuple<Paired> paired =
      ApplyParDo<In, Paired>(input, absl::StrCat(name, "/PairWithRestriction"),
                             DoFnCaller<PairWithRestriction<Fn, In>>{{fn}}, {settings.policy, {"main"}, {}});
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->shape = engine::Shape::kKeyed;
  factory->state_signature =
      absl::StrCat("restrictions ", model::CoderSignature<In>(), " ", model::CoderSignature<Restriction>());
  factory->new_sender = [] { return std::make_unique<engine::KeyedExchange<engine::SliceNumber, Restricted>>(); };
  factory->new_operator = [caller = SplittableCaller<Fn>{fn}, policy = settings.policy] {
    return std::make_unique<Operator>(caller, policy);
  };
  const std::vector<WindowingStrategy> windowing(sizeof...(Outs) + 1, input.windowing());
  const std::vector<model::PCollectionId> ids = pipeline.Add(name, "beam:transform:pardo:v1", {paired.main().id()}, std::move(factory),
                                                             windowing, input.bounded() && !Fn::kUnbounded);
  const auto failed_later = Handle<FailedElement>(pipeline, ids, sizeof...(Outs));
  const auto failures = settings.policy == FailurePolicy::kDeadLetter
                            ? Flatten<FailedElement>(absl::StrCat(name, "/Failures"), {paired.failures(), failed_later})
                            : failed_later;
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return PCollectionTuple<Outs...>(settings.output_names, {Handle<Outs>(pipeline, ids, I)...}, failures);
  }(std::index_sequence_for<Outs...>());
}

}  // namespace internal

}  // namespace hornbeam

#endif  // HORNBEAM_SPLITTABLE_H_
