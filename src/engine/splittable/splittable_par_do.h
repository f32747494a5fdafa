// A splittable DoFn's calls: restrictions in, elements out.
//
// A call is an overlay, as every call of user code is: its outputs, its finalisers and what it has claimed hold when it returns, and
// vanish when it throws. Then it is called again with the restriction as it was, JobOptions::attempts times in all, and after that the
// element fails with all that is left of its restriction: by policy it is a dead letter, or the end of the job.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_SPLITTABLE_PAR_DO_H_
#define HORNBEAM_ENGINE_SPLITTABLE_SPLITTABLE_PAR_DO_H_

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "engine/metrics/metric_cells.h"
#include "engine/operators/element_context.h"
#include "engine/operators/failed_call.h"
#include "engine/operators/failed_element.h"
#include "engine/operators/output_receiver.h"
#include "engine/splittable/process_continuation.h"
#include "engine/splittable/restriction_tracker.h"
#include "engine/splittable/slice_number.h"
#include "engine/splittable/splittable_operator.h"
#include "model/coder.h"
#include "model/element_bytes.h"
#include "model/kv.h"

namespace hornbeam::engine {

// An element with a part of its restriction, on its way to the worker that processes it.
template <typename In, typename Restriction>
struct Restricted {
  In element{};
  Restriction restriction{};
  model::EventTime watermark;  // the estimator's first state
};

// Spec says how the DoFn is called (hornbeam/transforms/splittable_par_do.h):
//
//   using Tracker; using Estimator;
//   static constexpr bool kUnbounded;
//   ProcessContinuation Process(const In&, const ElementContext&, RestrictionTracker<Tracker>&, Estimator&, OutputReceiver<Outs>&...);
//   std::optional<Restriction> Truncate(const In&, const Restriction&);
//
// Outputs: one for each of Outs, then FailedElement.
template <typename In, typename Spec, typename... Outs>
class SplittableParDoOperator final : public SplittableOperator {
  using Tracker = typename Spec::Tracker;
  using Restriction = typename Tracker::Restriction;
  using Estimator = typename Spec::Estimator;
  using Input = model::KV<SliceNumber, Restricted<In, Restriction>>;
  static constexpr size_t kFailedOutput = sizeof...(Outs);
  static constexpr bool kObserves = requires(Estimator& e, model::EventTime t) { e.ObserveTimestamp(t); };

 public:
  SplittableParDoOperator(const Spec& spec, FailurePolicy policy) : spec_(CopyIn(spec)), policy_(policy) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(SplittableOperator::Open(context, outputs));
    if (policy_ == FailurePolicy::kRetry) {
      return absl::InvalidArgumentError("elements of a splittable DoFn cannot be parked and retried: dead-letter its failures");
    }
    element_.Open(this->context().job, &this->context().name, &finalizer());
    return absl::OkStatus();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    const auto batch = As<Input>(std::move(erased));
    for (size_t i = 0; i < batch->size(); ++i) {
      Restricted<In, Restriction>& restricted = batch->values[i].value;
      std::string payload;
      One one;
      one.Append(std::move(restricted.element), batch->timestamps[i], batch->windows[i], batch->panes[i]);
      Encode(one, restricted.restriction, restricted.watermark, &payload);
      Queue(batch->hashes[i].slice(), restricted.watermark, std::move(payload));
    }
    CountWork();
    return absl::OkStatus();
  }

 private:
  using One = TypedBatch<In>;  // of one element
  struct Call {
    One one;
    Restriction restriction{};
    model::EventTime watermark;
  };

  Spec CopyIn(const Spec& spec) {
    MetricScope scope(&metrics());
    return spec;
  }

  static void Encode(const One& one, const Restriction& restriction, model::EventTime watermark, std::string* out) {
    model::Coder<In>::Encode(one.values[0], out);
    model::Coder<model::EventTime>::Encode(one.timestamps[0], out);
    model::PutWindow(out, one.windows[0]);
    model::PutPane(out, one.panes[0]);
    model::Coder<Restriction>::Encode(restriction, out);
    model::Coder<model::EventTime>::Encode(watermark, out);
  }
  static StatusOr<Call> Decode(const std::string& payload) {
    ByteReader in(payload);
    Call call;
    In element{};
    model::EventTime timestamp;
    const bool has_element = model::Coder<In>::Decode(in, &element) && model::Coder<model::EventTime>::Decode(in, &timestamp);
    const model::Window window = model::ReadWindow(in);
    call.one.Append(std::move(element), timestamp, window, model::ReadPane(in));
    if (!has_element || !model::Coder<Restriction>::Decode(in, &call.restriction) ||
        !model::Coder<model::EventTime>::Decode(in, &call.watermark) || !in.done()) {
      return absl::DataLossError("the log holds a malformed restriction of a splittable DoFn");
    }
    return call;
  }

  StatusOr<std::optional<Rest>> Step(const std::string& payload) override {
    HB_ASSIGN_OR_RETURN(const Call call, Decode(payload));
    element_.TakeUp(&call.one);
    element_.MoveTo(0);
    receivers_.TakeUp(&call.one);
    receivers_.MoveTo(0);
    receivers_.Mark();
    const size_t callbacks = finalizer().size();
    for (int attempt = 1;; ++attempt) {
      std::optional<Rest> rest;
      std::optional<std::string> error = ErrorOf([&] { rest = TryCall(call); });
      if (!error) {
        HB_RETURN_IF_ERROR(receivers_.EmitAll(this));
        return rest;
      }
      receivers_.Rollback();
      finalizer().Rollback(callbacks);
      if (attempt >= context().job->options().attempts) {
        HB_RETURN_IF_ERROR(OnFailure(call.one, std::move(*error)));
        return std::nullopt;
      }
    }
  }

  std::optional<Rest> TryCall(const Call& call) {
    RestrictionTracker<Tracker> tracker(call.restriction, &budget());
    Estimator estimator(call.watermark);
    const ProcessContinuation then = receivers_.Apply([&](auto&... receiver) {
      return spec_.Process(call.one.values[0], std::as_const(element_), tracker, estimator, receiver...);
    });
    if constexpr (kObserves) receivers_.EachTimestamp([&](model::EventTime t) { estimator.ObserveTimestamp(t); });
    budget().Spend(receivers_.size());
    const std::optional<Restriction> residual = tracker.TakeResidual(then.resumes());
    if (!residual) {
      if (then.resumes()) return std::nullopt;  // of which nothing was left
      if (const Status done = tracker.CheckDone(); !done.ok()) throw std::logic_error(std::string(done.message()));
      return std::nullopt;
    }
    Rest rest;
    rest.watermark = std::max(call.watermark, estimator.CurrentWatermark(context().job->Now()));
    rest.delay = then.resumes() ? then.delay() : model::Duration{};
    Encode(call.one, *residual, rest.watermark, &rest.payload);
    return rest;
  }

  StatusOr<std::optional<Rest>> Truncate(const std::string& payload) override {
    HB_ASSIGN_OR_RETURN(const Call call, Decode(payload));
    std::optional<Restriction> left;
    if (std::optional<std::string> error = ErrorOf([&] { left = spec_.Truncate(call.one.values[0], call.restriction); })) {
      HB_RETURN_IF_ERROR(OnFailure(call.one, std::move(*error)));
    }
    if (!left) return std::nullopt;
    Rest rest;
    rest.watermark = call.watermark;
    Encode(call.one, *left, rest.watermark, &rest.payload);
    return rest;
  }

  Status OnFailure(const One& one, std::string error) {
    OperatorCounters::Add(counters().failed, 1);
    if (policy_ == FailurePolicy::kFail || !output(kFailedOutput).has_consumers()) {
      return FailedOnElement(context().name, one.windows[0], error, Describe(one.values[0]));
    }
    auto failed = std::make_unique<TypedBatch<FailedElement>>();
    failed->Append({context().name, std::move(error), ToString(one.windows[0]), one.timestamps[0], Describe(one.values[0]),
                    context().job->options().attempts},
                   one.timestamps[0], one.windows[0], one.panes[0]);
    return output(kFailedOutput).Emit(std::move(failed));
  }

  Spec spec_;
  const FailurePolicy policy_;
  ElementContext element_;
  Receivers<Outs...> receivers_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_SPLITTABLE_PAR_DO_H_
