// ParDo with side inputs: user code on every element, which sees views of other collections.
//
// Input 0 is the main one; each further input brings the panes of one side input, to every worker. An element waits until each side
// input is ready in the window that its own is mapped to: until a pane of it has come, or the side input's watermark has passed the
// end of that window, which then is empty. Then it sees the newest pane that has come. What waits is durable and holds the
// watermark; side inputs do not. An element on which the DoFn fails and that is to be tried again (FailurePolicy::kRetry) is parked
// as other ParDos do it, and sees the newest pane that there is then.
//
// A view is kept until the main watermark, with the allowed lateness, has passed its window on all workers; an element that comes
// after that is dropped as late. Views are recorded by worker 0 and restored to all.
#ifndef HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_PAR_DO_H_
#define HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_PAR_DO_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/metrics/metric_cells.h"
#include "engine/operator.h"
#include "engine/operators/awaited_windows.h"
#include "engine/operators/bundle_finalizer.h"
#include "engine/operators/element_context.h"
#include "engine/operators/failed_call.h"
#include "engine/operators/failed_element.h"
#include "engine/operators/held_elements.h"
#include "engine/operators/marker_times.h"
#include "engine/operators/output_receiver.h"
#include "engine/operators/parked_elements.h"
#include "engine/operators/side_input.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

// Fn: void(const In&, const ElementContext&, const Views&..., OutputReceiver<Outs>&...).
template <typename In, typename Fn, typename ViewList, typename... Outs>
class SideInputParDoOperator;

template <typename In, typename Fn, typename... Views, typename... Outs>
class SideInputParDoOperator<In, Fn, std::tuple<Views...>, Outs...> final : public Operator {
  static constexpr size_t kFailedOutput = sizeof...(Outs);
  // Units of the log: what waits, and what is parked, under the worker's number; views from here on.
  static constexpr uint32_t kFirstViewUnit = 1 << 16;
  using HeldOp = typename HeldElements<In>::Op;
  static constexpr auto kParkedOp = static_cast<HeldOp>(3);  // operations on parked elements, as bytes
  using Sides = std::tuple<SideInput<Views>...>;
  using Seen = std::tuple<std::shared_ptr<const Views>...>;

 public:
  // `marker_times`: of this transform, for all workers.
  SideInputParDoOperator(const Fn& fn, FailurePolicy policy, model::Duration allowed_lateness,
                         std::shared_ptr<MarkerTimes> marker_times, Sides sides)
      : fn_(CopyIn(fn)),
        policy_(policy),
        allowed_lateness_(allowed_lateness),
        marker_times_(std::move(marker_times)),
        sides_(std::move(sides)) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    parked_.Open(this->context().job);
    metrics().SetClock(context.job->options().clock);
    element_.Open(this->context().job, &this->context().name, &finalizer_);
    marker_times_->Publish(context.worker, model::EventTime::Min());
    return absl::OkStatus();
  }

  int side_inputs() const override { return static_cast<int>(sizeof...(Views)); }
  bool generates_watermarks() const override { return true; }  // what waits is released by side inputs

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    if (input > 0) {
      TakePanes(static_cast<size_t>(input) - 1, std::move(erased), std::index_sequence_for<Views...>());
      return ReleaseFreed();
    }
    auto batch = As<In>(std::move(erased));
    TakeUp(*batch);
    for (size_t i = 0; i < batch->size(); ++i) {
      if (IsExpired(batch->windows[i])) {
        OperatorCounters::Add(counters().dropped_late, 1);
      } else if (Look(batch->windows[i])) {
        HB_RETURN_IF_ERROR(ProcessOne(*batch, i));
      } else if (const model::Window window = batch->windows[i]; held_.Hold(*batch, i)) {
        Await(window);
      }
    }
    return receivers_.EmitAll(this);
  }

  Status AdvanceSideWatermark(int input, model::EventTime watermark) override {
    const auto s = static_cast<size_t>(input) - 1;
    EachSide([&](size_t number, auto& side) {
      if (number == s) side.AdvanceWatermark(watermark);
    });
    awaited_.TakePassed(s, watermark, &freed_);
    return ReleaseFreed();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    if (input > watermark_) looked_up_.reset();
    watermark_ = std::max(watermark_, input);
    return std::min(input, HeldTime());
  }

  model::ProcessingTime NextProcessingTime() const override { return parked_.NextRetry(); }

  Status OnProcessingTime(model::ProcessingTime now) override {
    while (const auto id = parked_.PopDue(now)) HB_RETURN_IF_ERROR(Retry(*id));
    parked_report().Set(parked_.Snapshot());
    return absl::OkStatus();
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    finalizer_.HandOver(context().job, epoch);
    marker_times_->Publish(context().worker, std::min(watermark_, HeldTime()));
    const model::EventTime needed = marker_times_->Least() - allowed_lateness_;
    EachSide([&](size_t s, auto& side) {
      side.DropBefore(needed);
      if (context().worker != 0) return side.ForgetChanges();
      const std::string changes = side.TakeChanges();
      if (!changes.empty()) records->Add(context().id, kFirstViewUnit + static_cast<uint32_t>(s), false, changes);
    });
    const auto own = static_cast<uint32_t>(context().worker);
    std::string changes = held_.TakeChanges();
    if (adopted_units_.empty()) {
      for (const auto& [unit, parked] : parked_.TakeChanges()) PutParked(parked, &changes);  // all of them this worker's
      if (!changes.empty()) records->Add(context().id, own, false, changes);
      return absl::OkStatus();
    }
    // What waited on workers that there are no longer is written here from now on.
    for (const uint32_t unit : adopted_units_) records->Add(context().id, unit, true, {});
    adopted_units_.clear();
    parked_.MoveAllTo(own);
    return Rewrite(own, records);
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    if (unit >= kFirstViewUnit) {
      if (context().worker != 0) return absl::OkStatus();
      EachSide([&](size_t s, auto& side) {
        if (s != unit - kFirstViewUnit) return;
        side.LogAll(records->Begin(context().id, unit, true));
        records->End();
      });
      return absl::OkStatus();
    }
    if (static_cast<int>(unit) != context().worker) return absl::OkStatus();  // ended by OnMarker
    std::string* const out = records->Begin(context().id, unit, true);
    held_.LogAll(out);
    std::string parked;
    parked_.LogAll(unit, &parked);
    PutParked(parked, out);
    records->End();
    return absl::OkStatus();
  }

  bool restores_everywhere(uint32_t unit) const override { return unit >= kFirstViewUnit; }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if (unit >= kFirstViewUnit) {
      Status status = absl::DataLossError("the log holds a view of a side input that the step does not have");
      EachSide([&](size_t s, auto& side) {
        if (s != unit - kFirstViewUnit) return;
        if (replaces) side.Clear();
        status = side.Restore(payload);
      });
      return status;
    }
    if (static_cast<int>(unit) != context().worker && !std::count(adopted_units_.begin(), adopted_units_.end(), unit)) {
      adopted_units_.push_back(unit);
    }
    if (replaces) parked_.ForgetRestored(unit);
    return RestoreOwn(unit, payload);
  }

 private:
  Fn CopyIn(const Fn& fn) {
    MetricScope scope(&metrics());
    return fn;
  }

  template <typename F>
  void EachSide(F f) {
    size_t s = 0;
    std::apply([&](auto&... side) { (f(s++, side), ...); }, sides_);
  }
  template <size_t... I>
  void TakePanes(size_t s, std::unique_ptr<Batch> erased, std::index_sequence<I...>) {
    ((I == s ? TakePanesOf(I, std::get<I>(sides_), std::move(erased)) : void()), ...);
    looked_up_.reset();
  }
  template <typename View>
  void TakePanesOf(size_t s, SideInput<View>& side, std::unique_ptr<Batch> erased) {
    const auto batch = As<SideUpdate<View>>(std::move(erased));
    for (const SideUpdate<View>& update : batch->values) {
      side.Put(update);
      awaited_.Take(s, update.window, &freed_);
    }
  }

  // A view that elements of the window need may be gone.
  bool IsExpired(const model::Window& window) const {
    return std::apply(
        [&](const auto&... side) { return ((watermark_ - allowed_lateness_ > side.WindowOf(window).MaxTimestamp()) || ...); }, sides_);
  }

  // Whether all side inputs are ready for elements of the window; then seen_ has their views.
  bool Look(const model::Window& window) {
    if (looked_up_ == window) return true;
    bool ready = true;
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(seen_) = std::get<I>(sides_).Find(std::get<I>(sides_).WindowOf(window)),
        ready = ready && std::get<I>(seen_) != nullptr),
       ...);
    }(std::index_sequence_for<Views...>());
    looked_up_ = ready ? std::optional(window) : std::nullopt;
    return ready;
  }

  // The window waits for the first side input that is not ready for it. REQUIRES: there is one.
  void Await(const model::Window& window) {
    bool waits = false;
    EachSide([&](size_t s, auto& side) {
      if (waits || side.Find(side.WindowOf(window)) != nullptr) return;
      waits = true;
      awaited_.Add(s, side.WindowOf(window), window);
    });
  }

  // Windows of which a side input that they have waited for has become ready: in the order of windows, elements as they came.
  Status ReleaseFreed() {
    if (std::exchange(is_restored_, false)) {
      awaited_.Clear();
      freed_ = held_.Windows();
    }
    std::sort(freed_.begin(), freed_.end());
    for (const model::Window& window : std::exchange(freed_, {})) {
      if (!Look(window)) {
        Await(window);
        continue;
      }
      const std::unique_ptr<TypedBatch<In>> batch = held_.Take(window);
      TakeUp(*batch);
      for (size_t i = 0; i < batch->size(); ++i) HB_RETURN_IF_ERROR(ProcessOne(*batch, i));
      HB_RETURN_IF_ERROR(receivers_.EmitAll(this));
      held_.Released(window);
    }
    for (const uint64_t id : std::exchange(unready_, {})) HB_RETURN_IF_ERROR(Retry(id));
    return absl::OkStatus();
  }

  void TakeUp(const Batch& batch) {
    element_.TakeUp(&batch);
    receivers_.TakeUp(&batch);
  }

  Status ProcessOne(TypedBatch<In>& batch, size_t i) {
    if (std::optional<std::string> error = Try(batch, i)) return OnFailure(batch, i, std::move(*error));
    return absl::OkStatus();
  }
  // Calls the DoFn up to the number of attempts, with what seen_ has; the error of the last one.
  std::optional<std::string> Try(const TypedBatch<In>& batch, size_t i) {
    element_.MoveTo(i);
    receivers_.MoveTo(i);
    receivers_.Mark();
    const size_t callbacks = finalizer_.size();
    for (int attempt = 1;; ++attempt) {
      std::optional<std::string> error = ErrorOf([&] { Call(batch.values[i], std::index_sequence_for<Views...>()); });
      if (!error) return std::nullopt;
      receivers_.Rollback();
      finalizer_.Rollback(callbacks);
      if (attempt >= context().job->options().attempts) return error;
    }
  }

  // The views that a parked element has seen are held by it. After a restart a window that is empty is ready again only when the side
  // input's watermark has come.
  Status Retry(uint64_t id) {
    const TypedBatch<In> one = parked_.Element(id);
    if (!Look(one.windows[0])) {
      unready_.push_back(id);
      return absl::OkStatus();
    }
    TakeUp(one);
    if (std::optional<std::string> error = Try(one, 0)) {
      parked_.FailedAgain(id, context().job->options().attempts, std::move(*error));
      return absl::OkStatus();
    }
    HB_RETURN_IF_ERROR(receivers_.EmitAll(this));
    parked_.Release(id);
    return absl::OkStatus();
  }
  template <size_t... I>
  void Call(const In& element, std::index_sequence<I...>) {
    receivers_.Apply([&](auto&... receiver) { fn_(element, element_, *std::get<I>(seen_)..., receiver...); });
  }

  Status OnFailure(const TypedBatch<In>& batch, size_t i, std::string error) {
    OperatorCounters::Add(counters().failed, 1);
    if (policy_ == FailurePolicy::kRetry) {
      parked_.Park(static_cast<uint32_t>(context().worker), batch, i, context().job->options().attempts, std::move(error));
      parked_report().Set(parked_.Snapshot());
      return absl::OkStatus();
    }
    if (policy_ == FailurePolicy::kFail || !output(kFailedOutput).has_consumers()) {
      return FailedOnElement(context().name, batch.windows[i], error, Describe(batch.values[i]));
    }
    auto failed = std::make_unique<TypedBatch<FailedElement>>();
    failed->Append({context().name, std::move(error), ToString(batch.windows[i]), batch.timestamps[i], Describe(batch.values[i]),
                    context().job->options().attempts},
                   batch.timestamps[i], batch.windows[i], batch.panes[i]);
    return output(kFailedOutput).Emit(std::move(failed));
  }

  model::EventTime HeldTime() const { return std::min(held_.HeldTime(), parked_.HeldTime()); }

  static void PutParked(std::string_view operations, std::string* out) {
    if (operations.empty()) return;
    out->push_back(static_cast<char>(kParkedOp));
    PutBytes(out, operations);
  }
  Status RestoreOwn(uint32_t unit, std::string_view payload) {
    is_restored_ = true;
    ByteReader in(payload);
    while (in.ok() && !in.done()) {
      const auto op = static_cast<HeldOp>(in.Byte());
      if (op == kParkedOp) {
        HB_RETURN_IF_ERROR(parked_.Restore(unit, static_cast<int>(unit) == context().worker, in.Bytes()));
      } else if (!held_.RestoreOp(op, in)) {
        return MalformedElements();
      }
    }
    parked_report().Set(parked_.Snapshot());
    return in.ok() ? absl::OkStatus() : MalformedElements();
  }
  static Status MalformedElements() { return absl::DataLossError("the log holds malformed elements that wait for a side input"); }

  Fn fn_;
  const FailurePolicy policy_;
  const model::Duration allowed_lateness_;
  const std::shared_ptr<MarkerTimes> marker_times_;
  Sides sides_;
  BundleFinalizer finalizer_;
  ElementContext element_;
  Receivers<Outs...> receivers_;
  HeldElements<In> held_;
  ParkedElements<In> parked_;
  std::vector<uint64_t> unready_;             // of parked_: due, and their views are not there yet
  AwaitedWindows awaited_{sizeof...(Views)};  // of held_
  std::vector<model::Window> freed_;          // taken out of awaited_
  bool is_restored_ = false;                  // held_ is newly restored, and nothing of it in awaited_
  Seen seen_;                                // of looked_up_
  std::optional<model::Window> looked_up_;   // a main window whose views are in seen_
  model::EventTime watermark_ = model::EventTime::Min();
  std::vector<uint32_t> adopted_units_;      // restored here, and not this worker's own
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_PAR_DO_H_
