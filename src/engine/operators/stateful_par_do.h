// ParDo with state and timers: the half that knows the types. stateful_operator.h has the rest.
#ifndef HORNBEAM_ENGINE_OPERATORS_STATEFUL_PAR_DO_H_
#define HORNBEAM_ENGINE_OPERATORS_STATEFUL_PAR_DO_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/metrics/metric_cells.h"
#include "engine/operators/do_fn_lifecycle.h"
#include "engine/operators/element_context.h"
#include "engine/operators/failed_call.h"
#include "engine/operators/output_receiver.h"
#include "engine/operators/parked_elements.h"
#include "engine/operators/stateful_operator.h"
#include "model/kv.h"

namespace hornbeam::engine {

// What calls without an element have in place of one.
class CallBatch final : public Batch {
 public:
  CallBatch() { timestamps.emplace_back(); }
  void Set(model::EventTime timestamp, const model::Window& window) {
    timestamps[0] = timestamp;
    windows.SetUniform(window);
  }
  std::unique_ptr<Batch> Clone() const override { return std::make_unique<CallBatch>(*this); }
};

// Fn: void(const KV<K, V>&, const ElementContext&, OutputReceiver<Outs>&...), around a DoFn (DoFnOf) that declares states and
// timers as members and may have, beside what do_fn_lifecycle.h names,
//
//   void OnTimer(const K&, const TimerContext&, OutputReceiver<Outs>&...);             // timers/timer_member.h says when
//   void OnWindowExpiration(const K&, const ExpirationContext&, OutputReceiver<Outs>&...);
//
// Outputs: one for each of Outs, then FailedElement.
template <typename K, typename V, typename Fn, typename... Outs>
class StatefulParDoOperator final : public StatefulOperator {
  using In = model::KV<K, V>;
  using DoFn = std::remove_reference_t<decltype(DoFnOf(std::declval<Fn&>()))>;
  using Lifecycle = DoFnLifecycle<Fn, Outs...>;
  static constexpr bool kHasOnTimer =
      requires(DoFn& f, const K& key, const TimerContext& c, OutputReceiver<Outs>&... outs) { f.OnTimer(key, c, outs...); };
  static constexpr bool kHasOnWindowExpiration =
      requires(DoFn& f, const K& key, const ExpirationContext& c, OutputReceiver<Outs>&... outs) {
        f.OnWindowExpiration(key, c, outs...);
      };
  static_assert(kHasOnTimer || !requires { &DoFn::OnTimer; },
                "OnTimer takes (const K&, const TimerContext&, OutputReceiver<Out>&...), one receiver for each output");
  static_assert(kHasOnWindowExpiration || !requires { &DoFn::OnWindowExpiration; },
                "OnWindowExpiration takes (const K&, const ExpirationContext&, OutputReceiver<Out>&...), one receiver for each "
                "output");
  static_assert(std::is_invocable_v<Fn&, const In&, const ElementContext&, OutputReceiver<Outs>&...>,
                "a DoFn with state takes its elements by const&");

 public:
  StatefulParDoOperator(const model::WindowingStrategy& strategy, const Fn& fn, const StatefulSettings& settings)
      : StatefulOperator(strategy, KeyTypeOf<K>(), settings, {kHasOnTimer, kHasOnWindowExpiration}, sizeof...(Outs), &parked_),
        fn_(CopyIn(fn)),
        lifecycle_(&fn_) {}

  ~StatefulParDoOperator() override { DropState(); }

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(StatefulOperator::Open(context, outputs));
    element_.Open(this->context().job, &this->context().name, &finalizer_);
    parked_.Open(this->context().job);
    MetricScope scope(&metrics());
    return lifecycle_.Setup();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<In>(std::move(erased));
    SetNow(context().job->Now());
    TakeUp(*batch);
    if constexpr (Lifecycle::kHasBundles) HB_RETURN_IF_ERROR(OpenBundle(*batch));
    for (size_t i = 0; i < batch->size(); ++i) {
      if (IsExpired(batch->windows[i])) {
        OperatorCounters::Add(counters().dropped_late, 1);
        continue;
      }
      if (std::optional<std::string> error = Try(*batch, i, batch->hashes[i])) {
        HB_RETURN_IF_ERROR(OnFailure(*batch, i, std::move(*error)));
      }
      if (HasOverdue()) {
        HB_RETURN_IF_ERROR(Annotate(FireOverdue(), absl::StrCat("'", context().name, "'")));
        TakeUp(*batch);
      }
    }
    return EmitAll();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    if constexpr (Lifecycle::kHasBundles) {
      HB_RETURN_IF_ERROR(lifecycle_.BeforeWatermark(input, &receivers_, &finalizer_));
    }
    return StatefulOperator::AdvanceWatermark(input);
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    if constexpr (Lifecycle::kHasBundles) {
      HB_RETURN_IF_ERROR(lifecycle_.FinishBundle(&receivers_, &finalizer_));
      HB_RETURN_IF_ERROR(EmitAll());
    }
    finalizer_.HandOver(context().job, epoch);
    return StatefulOperator::OnMarker(epoch, records);
  }

 private:
  // A copy at its place for good, whose states, timers and metrics are this operator's.
  Fn CopyIn(const Fn& fn) {
    MetricScope metric_scope(&metrics());
    StateScope state_scope(members());
    return fn;
  }

  void TakeUp(const Batch& batch) {
    element_.TakeUp(&batch);
    receivers_.TakeUp(&batch);
  }
  void TakeUpCall(model::EventTime timestamp, const model::Window& window) override {
    call_.Set(timestamp, window);
    receivers_.TakeUp(&call_);
    receivers_.MoveTo(0);
  }
  Status OpenBundle(const Batch& batch) {
    return Annotate(lifecycle_.BeforeElements(batch.timestamps), absl::StrCat("'", context().name, "'"));
  }

  template <typename Call>
  std::optional<std::string> AttemptCall(Call call) {
    receivers_.Mark();
    const size_t callbacks = finalizer_.size();
    for (int attempt = 1;; ++attempt) {
      std::optional<std::string> error = ErrorOf(call);
      if (!error) return std::nullopt;
      receivers_.Rollback();
      finalizer_.Rollback(callbacks);
      RollbackCall();
      if (attempt >= context().job->options().attempts) return error;
    }
  }
  std::optional<std::string> Attempt(absl::FunctionRef<void()> call) override { return AttemptCall(call); }

  // The DoFn on element i; the error of the last attempt.
  std::optional<std::string> Try(TypedBatch<In>& batch, size_t i, const model::KeyHash& hash) {
    element_.MoveTo(i);
    receivers_.MoveTo(i);
    const In& element = batch.values[i];
    const Place at = Enter(batch.windows[i], hash, &element.key, batch.timestamps[i]);
    std::optional<std::string> error =
        AttemptCall([&] { receivers_.Apply([&](auto&... receiver) { fn_(element, element_, receiver...); }); });
    error ? Abandon(at) : Leave(at);
    return error;
  }

  void CallOnTimer(const void* key, const TimerContext& context) override {
    if constexpr (kHasOnTimer) {
      receivers_.Apply(
          [&](auto&... receiver) { DoFnOf(fn_).OnTimer(*static_cast<const K*>(key), context, receiver...); });
    }
  }
  void CallOnWindowExpiration(const void* key, const ExpirationContext& context) override {
    if constexpr (kHasOnWindowExpiration) {
      receivers_.Apply(
          [&](auto&... receiver) { DoFnOf(fn_).OnWindowExpiration(*static_cast<const K*>(key), context, receiver...); });
    }
  }

  Status OnFailure(TypedBatch<In>& batch, size_t i, std::string error) {
    OperatorCounters::Add(counters().failed, 1);
    const int attempts = context().job->options().attempts;
    const model::Window window = batch.windows[i];
    switch (policy()) {
      case FailurePolicy::kFail: return FailedOnElement(context().name, window, error, Describe(batch.values[i]));
      case FailurePolicy::kDeadLetter:
        return EmitFailed({context().name, std::move(error), ToString(window), batch.timestamps[i],
                           Describe(batch.values[i]), attempts},
                          batch.timestamps[i], window, batch.panes[i]);
      case FailurePolicy::kRetry:
        parked_.Park(batch.hashes[i].slice(), batch, i, attempts, std::move(error));
        ReportParked();
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  Status RetryElements(model::ProcessingTime now) override {
    while (const auto id = parked_.PopDue(now)) {
      TypedBatch<In> one = parked_.Element(*id);
      TakeUp(one);
      if constexpr (Lifecycle::kHasBundles) HB_RETURN_IF_ERROR(OpenBundle(one));
      if (std::optional<std::string> error = Try(one, 0, model::HashKey(one.values[0].key))) {
        parked_.FailedAgain(*id, context().job->options().attempts, std::move(*error));
        continue;
      }
      HB_RETURN_IF_ERROR(EmitAll());
      parked_.Release(*id);
    }
    return absl::OkStatus();
  }

  Status EmitAll() override { return receivers_.EmitAll(this); }
  bool has_room() const override { return receivers_.size() < context().job->options().batch_size; }
  BundleFinalizer* finalizer() override { return &finalizer_; }

  ParkedElements<In> parked_;
  Fn fn_;
  Lifecycle lifecycle_;
  BundleFinalizer finalizer_;
  ElementContext element_;
  Receivers<Outs...> receivers_;
  CallBatch call_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_STATEFUL_PAR_DO_H_
