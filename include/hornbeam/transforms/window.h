// Windowing: where elements lie in event time, and when their groups are put out.
//
//   events | "Window" >> WindowInto(FixedWindows(Seconds(60)))
//                            .Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(1)))
//                            .WithAllowedLateness(Minutes(10))
//                            .AccumulatingFiredPanes();
//
// What is not said stays as it was for the input: the default is the global window, the default trigger, no lateness, discarding.
#ifndef HORNBEAM_TRANSFORMS_WINDOW_H_
#define HORNBEAM_TRANSFORMS_WINDOW_H_

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/operators/watermark_generator.h"
#include "engine/operators/window_into.h"
#include "hornbeam/pipeline.h"
#include "model/calendar_windows.h"

namespace hornbeam {

namespace internal {

// The collection with each element once for each window that it lies in. A transform that looks at windows, or keeps state by
// them, reads its input through this; `name` is the transform's own.
template <typename T>
PCollection<T> InEachWindow(const PCollection<T>& input, const std::string& name) {
  Pipeline& pipeline = input.pipeline();
  if (!pipeline.sliced(input.id())) return input;
  if constexpr (std::is_copy_constructible_v<T>) {
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->new_operator = [fn = input.windowing().window_fn] { return std::make_unique<engine::ExplodeSlicesOperator<T>>(fn); };
    return Handle<T>(pipeline, pipeline.Add(absl::StrCat(name, "/InEachWindow"), "hornbeam:transform:in_each_window:v1",
                                            {input.id()}, std::move(factory), {input.windowing()}, input.bounded()));
  } else {
    pipeline.NoteMistake(absl::InvalidArgumentError(
        absl::StrCat("'", name, "' needs each element once for each of its windows, and elements of this type cannot be copied")));
    return input;
  }
}

}  // namespace internal

inline WindowFn GlobalWindows() { return WindowFn::Global(); }
// [offset + n * size, offset + (n + 1) * size).
inline WindowFn FixedWindows(Duration size, Duration offset = {}) { return WindowFn::Fixed(size, offset); }
// A window of `size` starts every `period`: with a period shorter than the size an element lies in several, with a longer one
// perhaps in none.
inline WindowFn SlidingWindows(Duration size, Duration period, Duration offset = {}) {
  return WindowFn::Sliding(size, period, offset);
}
// Of each key, elements that are less than `gap` apart.
inline WindowFn Sessions(Duration gap) { return WindowFn::Sessions(gap); }
// A function of the program's own (model::CustomWindowFn), with its merging if it has any.
inline WindowFn CustomWindows(std::shared_ptr<const model::CustomWindowFn> fn) { return WindowFn::Custom(std::move(fn)); }

using model::CalendarWindows;

class WindowInto : public PTransform {
 public:
  explicit WindowInto(WindowFn fn) : fn_(std::move(fn)) {}

  WindowInto Triggering(Trigger trigger) const { return With([&](WindowInto& w) { w.trigger_ = std::move(trigger); }); }
  WindowInto WithAllowedLateness(Duration d) const { return With([&](WindowInto& w) { w.lateness_ = d; }); }
  WindowInto AccumulatingFiredPanes() const {
    return With([](WindowInto& w) { w.mode_ = AccumulationMode::kAccumulating; });
  }
  WindowInto DiscardingFiredPanes() const {
    return With([](WindowInto& w) { w.mode_ = AccumulationMode::kDiscarding; });
  }
  WindowInto WithTimestampCombiner(TimestampCombiner combiner) const {
    return With([&](WindowInto& w) { w.combiner_ = combiner; });
  }
  WindowInto WithOnTimeBehavior(model::OnTimeBehavior behavior) const {
    return With([&](WindowInto& w) { w.on_time_ = behavior; });
  }
  WindowInto WithClosingBehavior(model::ClosingBehavior behavior) const {
    return With([&](WindowInto& w) { w.closing_ = behavior; });
  }

  template <typename T>
  PCollection<T> Expand(const PCollection<T>& collection, const std::string& name) const {
    // Elements that lie in several windows are windowed anew once for each, as in Beam.
    const PCollection<T> input = internal::InEachWindow(collection, name);
    const WindowingStrategy strategy = Apply(input.windowing());
    Pipeline& pipeline = input.pipeline();
    pipeline.NoteMistake(Annotate(strategy.Validate(), absl::StrCat("'", name, "'")));
    auto factory = std::make_shared<engine::OperatorFactory>();
    const bool many = !fn_.assigns_one() && !fn_.has_slices();
    factory->new_operator = [fn = fn_, many]() -> std::unique_ptr<engine::Operator> {
      if constexpr (std::is_copy_constructible_v<T>) {
        if (many) {
          return std::make_unique<engine::WindowIntoManyOperator<T>>(
              [fn](const T&, EventTime t, std::vector<Window>* windows) { fn.Assign(t, windows); });
        }
      }
      return std::make_unique<engine::WindowIntoOperator>(fn);
    };
    const PCollection<T> output = internal::Handle<T>(
        pipeline,
        pipeline.Add(name, "beam:transform:window_into:v1", {input.id()}, std::move(factory), {strategy}, input.bounded()));
    if (fn_.has_slices()) pipeline.MarkSliced(output.id());
    if (many && !std::is_copy_constructible_v<T>) {
      pipeline.NoteMistake(absl::InvalidArgumentError(
          absl::StrCat("'", name, "' may put an element into several windows, and elements of this type cannot be copied")));
    }
    return output;
  }

 private:
  template <typename F>
  WindowInto With(F change) const {
    WindowInto changed = *this;
    change(changed);
    return changed;
  }
  WindowingStrategy Apply(WindowingStrategy strategy) const {
    strategy.window_fn = fn_;
    strategy.already_merged = false;
    if (trigger_) strategy.trigger = *trigger_;
    if (lateness_) strategy.allowed_lateness = *lateness_;
    if (mode_) strategy.accumulation_mode = *mode_;
    if (combiner_) strategy.timestamp_combiner = *combiner_;
    if (on_time_) strategy.on_time_behavior = *on_time_;
    if (closing_) strategy.closing_behavior = *closing_;
    return strategy;
  }

  WindowFn fn_;
  std::optional<Trigger> trigger_;
  std::optional<Duration> lateness_;
  std::optional<AccumulationMode> mode_;
  std::optional<TimestampCombiner> combiner_;
  std::optional<model::OnTimeBehavior> on_time_;
  std::optional<model::ClosingBehavior> closing_;
};

// Windows that depend on the element (Beam's WindowFn.assignWindows with its AssignContext): `assign` appends the windows of an
// element, any number of them. `fn` says whether they merge, and how.
//
//   bids | "Auctions" >> WindowIntoBy<Bid>(CustomWindows(merging), [](const Bid& bid, EventTime t, std::vector<Window>* windows) {
//     windows->push_back({t, bid.expires});
//   });
template <typename T>
class WindowIntoBy : public PTransform {
 public:
  using AssignFn = typename engine::WindowIntoManyOperator<T>::AssignFn;
  WindowIntoBy(WindowFn fn, AssignFn assign) : fn_(std::move(fn)), assign_(std::move(assign)) {}

  PCollection<T> Expand(const PCollection<T>& collection, const std::string& name) const {
    const PCollection<T> input = internal::InEachWindow(collection, name);
    WindowingStrategy strategy = input.windowing();
    strategy.window_fn = fn_;
    strategy.already_merged = false;
    Pipeline& pipeline = input.pipeline();
    pipeline.NoteMistake(Annotate(strategy.Validate(), absl::StrCat("'", name, "'")));
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->new_operator = [assign = assign_] { return std::make_unique<engine::WindowIntoManyOperator<T>>(assign); };
    return internal::Handle<T>(
        pipeline,
        pipeline.Add(name, "beam:transform:window_into:v1", {input.id()}, std::move(factory), {strategy}, input.bounded()));
  }

 private:
  WindowFn fn_;
  AssignFn assign_;
};

using engine::BoundedOutOfOrderness;

// Makes a watermark of the timestamps of the elements that pass, for a source that does not know its own, as a file of events:
// stamp them first (OutputReceiver::OutputWithTimestamp). Not Beam's: there a source has to know. An element that comes later
// than the estimator allows is late. It knows nothing of what is held in front of it, so a ParDo that parks elements
// (FailurePolicy::kRetry) has to come behind it; Run says so where one does not.
class WithWatermark : public PTransform {
 public:
  explicit WithWatermark(BoundedOutOfOrderness estimator) : estimator_(estimator) {}

  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    if (const std::string parking = input.pipeline().ParkingBefore(input.id()); !parking.empty()) {
      input.pipeline().NoteMistake(absl::InvalidArgumentError(
          absl::StrCat("'", name, "' makes a watermark that would run past the elements that '", parking,
                       "' parks and retries in front of it: move it in front, or dead-letter the failures of '", parking, "'")));
    }
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->new_operator = [estimator = estimator_] {
      return std::make_unique<engine::WatermarkGeneratorOperator>(estimator);
    };
    const PCollection<T> output = internal::Handle<T>(
        input.pipeline(), input.pipeline().Add(name, "hornbeam:transform:with_watermark:v1", {input.id()}, std::move(factory),
                                               {input.windowing()}, input.bounded()));
    if (input.pipeline().sliced(input.id())) input.pipeline().MarkSliced(output.id());
    return output;
  }

 private:
  BoundedOutOfOrderness estimator_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_WINDOW_H_
