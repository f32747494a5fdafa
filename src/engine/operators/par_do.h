// ParDo: runs user code on every element.
//
// What one call does is an overlay: its outputs are kept apart until it returns, and vanish when it throws. Then the element is
// tried again, JobOptions::attempts times in all, and after that the policy says what becomes of it.
#ifndef HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_
#define HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/metrics/metric_cells.h"
#include "engine/operator.h"
#include "engine/operators/bundle_finalizer.h"
#include "engine/operators/do_fn_lifecycle.h"
#include "engine/operators/element_context.h"
#include "engine/operators/failed_call.h"
#include "engine/operators/failed_element.h"
#include "engine/operators/output_receiver.h"
#include "engine/operators/parked_elements.h"

namespace hornbeam::engine {

// Fn: void(In, const ElementContext&, OutputReceiver<Outs>&...). When it takes `In&&` or `In&` the element may be gone after the
// first attempt, and there is no second one. What else a DoFn may have is in do_fn_lifecycle.h.
//
// Outputs: one for each of Outs, then FailedElement.
template <typename In, typename Fn, typename... Outs>
class ParDoOperator final : public Operator {
  static constexpr bool kKeepsElement = std::is_invocable_v<Fn&, const In&, const ElementContext&, OutputReceiver<Outs>&...>;
  static constexpr bool kCanPark = kKeepsElement && model::Codable<In> && std::is_copy_constructible_v<In>;
  static constexpr size_t kFailedOutput = sizeof...(Outs);
  using Lifecycle = DoFnLifecycle<Fn, Outs...>;

 public:
  ParDoOperator(const Fn& fn, FailurePolicy policy) : fn_(CopyIn(fn)), policy_(policy), lifecycle_(&fn_) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    if (policy_ == FailurePolicy::kRetry && !kCanPark) {
      return absl::InvalidArgumentError(
          "elements of this type cannot be parked and retried: that needs a coder, and a DoFn that takes them by const&");
    }
    metrics().SetClock(context.job->options().clock);
    element_.Open(this->context().job, &this->context().name, &finalizer_);
    parked_.Open(this->context().job);
    MetricScope scope(&metrics());
    return lifecycle_.Setup();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<In>(std::move(erased));
    TakeUp(*batch);
    if constexpr (Lifecycle::kHasBundles) HB_RETURN_IF_ERROR(OpenBundle(*batch));
    for (size_t i = 0; i < batch->size(); ++i) {
      if (std::optional<std::string> error = Try(*batch, i)) HB_RETURN_IF_ERROR(OnFailure(*batch, i, std::move(*error)));
    }
    return receivers_.EmitAll(this);
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    if constexpr (Lifecycle::kHasBundles) {
      HB_RETURN_IF_ERROR(lifecycle_.BeforeWatermark(input, &receivers_, &finalizer_));
      HB_RETURN_IF_ERROR(receivers_.EmitAll(this));
    }
    if constexpr (kCanPark) return std::min(input, parked_.HeldTime());
    return input;
  }

  model::ProcessingTime NextProcessingTime() const override {
    if constexpr (kCanPark) return parked_.NextRetry();
    return model::ProcessingTime::Never();
  }

  Status OnProcessingTime(model::ProcessingTime now) override {
    if constexpr (kCanPark) {
      while (const auto id = parked_.PopDue(now)) HB_RETURN_IF_ERROR(Retry(*id));
      parked_report().Set(parked_.Snapshot());
    }
    return absl::OkStatus();
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    if constexpr (Lifecycle::kHasBundles) {
      HB_RETURN_IF_ERROR(lifecycle_.FinishBundle(&receivers_, &finalizer_));
      HB_RETURN_IF_ERROR(receivers_.EmitAll(this));
    }
    finalizer_.HandOver(context().job, epoch);
    if constexpr (kCanPark) return LogParked(records);
    return absl::OkStatus();
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    if (static_cast<int>(unit) != context().worker) return absl::OkStatus();  // ended by OnMarker
    if constexpr (kCanPark) {
      parked_.LogAll(unit, records->Begin(context().id, unit, true));
      records->End();
    }
    return absl::OkStatus();
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if constexpr (kCanPark) {
      const bool is_own = static_cast<int>(unit) == context().worker;
      if (replaces) parked_.ForgetRestored(unit);
      if (!is_own && !std::count(adopted_units_.begin(), adopted_units_.end(), unit)) adopted_units_.push_back(unit);
      HB_RETURN_IF_ERROR(parked_.Restore(unit, is_own, payload));
      parked_report().Set(parked_.Snapshot());
      return absl::OkStatus();
    }
    return Operator::Restore(unit, replaces, payload);
  }

 private:
  struct NoneParked {
    void Open(JobContext*) {}
  };

  // A copy at its place for good, whose metrics count here.
  Fn CopyIn(const Fn& fn) {
    MetricScope scope(&metrics());
    return fn;
  }

  void TakeUp(const Batch& batch) {
    element_.TakeUp(&batch);
    receivers_.TakeUp(&batch);
  }

  Status OpenBundle(const Batch& batch) {
    return Annotate(lifecycle_.BeforeElements(batch.timestamps), absl::StrCat("'", context().name, "'"));
  }

  // Calls the DoFn up to the number of attempts; the error of the last one.
  std::optional<std::string> Try(TypedBatch<In>& batch, size_t i) {
    element_.MoveTo(i);
    receivers_.MoveTo(i);
    receivers_.Mark();
    const size_t callbacks = finalizer_.size();
    for (int attempt = 1;; ++attempt) {
      std::optional<std::string> error = ErrorOf([&] { Call(batch.values[i]); });
      if (!error) return std::nullopt;
      receivers_.Rollback();
      finalizer_.Rollback(callbacks);
      if (!kKeepsElement || attempt >= context().job->options().attempts) return error;
    }
  }

  void Call(In& element) {
    receivers_.Apply([&](auto&... receiver) {
      if constexpr (kKeepsElement) {
        fn_(std::as_const(element), element_, receiver...);
      } else if constexpr (std::is_invocable_v<Fn&, In&, const ElementContext&, OutputReceiver<Outs>&...>) {
        fn_(element, element_, receiver...);
      } else {
        fn_(std::move(element), element_, receiver...);
      }
    });
  }

  Status OnFailure(TypedBatch<In>& batch, size_t i, std::string error) {
    OperatorCounters::Add(counters().failed, 1);
    const int64_t attempts = kKeepsElement ? context().job->options().attempts : 1;
    // A dead letter that nobody reads would be an element that vanished.
    const bool unread = policy_ == FailurePolicy::kDeadLetter && !output(kFailedOutput).has_consumers();
    switch (unread ? FailurePolicy::kFail : policy_) {
      case FailurePolicy::kFail:
        return FailedOnElement(context().name, batch.windows[i], error, Describe(batch.values[i]));
      case FailurePolicy::kDeadLetter: {
        auto failed = std::make_unique<TypedBatch<FailedElement>>();
        failed->Append({context().name, std::move(error), ToString(batch.windows[i]), batch.timestamps[i],
                        Describe(batch.values[i]), attempts},
                       batch.timestamps[i], batch.windows[i], batch.panes[i]);
        return output(kFailedOutput).Emit(std::move(failed));
      }
      case FailurePolicy::kRetry:
        if constexpr (kCanPark) {
          parked_.Park(static_cast<uint32_t>(context().worker), batch, i, attempts, std::move(error));
          parked_report().Set(parked_.Snapshot());
        }
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  Status Retry(uint64_t id) {
    TypedBatch<In> one = parked_.Element(id);
    TakeUp(one);
    if constexpr (Lifecycle::kHasBundles) HB_RETURN_IF_ERROR(OpenBundle(one));
    if (std::optional<std::string> error = Try(one, 0)) {
      parked_.FailedAgain(id, context().job->options().attempts, std::move(*error));
      return absl::OkStatus();
    }
    HB_RETURN_IF_ERROR(receivers_.EmitAll(this));
    parked_.Release(id);
    return absl::OkStatus();
  }

  Status LogParked(EpochRecords* records) {
    const auto own = static_cast<uint32_t>(context().worker);
    if (adopted_units_.empty()) {
      for (const auto& [unit, changes] : parked_.TakeChanges()) records->Add(context().id, unit, false, changes);
      return absl::OkStatus();
    }
    // What workers that there are no longer had parked is written here from now on, under numbers of this worker's.
    for (const uint32_t unit : adopted_units_) records->Add(context().id, unit, true, {});
    adopted_units_.clear();
    parked_.MoveAllTo(own);
    return Rewrite(own, records);
  }

  Fn fn_;
  const FailurePolicy policy_;
  Lifecycle lifecycle_;
  BundleFinalizer finalizer_;
  ElementContext element_;
  Receivers<Outs...> receivers_;
  std::conditional_t<kCanPark, ParkedElements<In>, NoneParked> parked_;
  std::vector<uint32_t> adopted_units_;  // restored here, and not this worker's own
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_
