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
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/operators/watermark_generator.h"
#include "engine/operators/window_into.h"
#include "hornbeam/pipeline.h"

namespace hornbeam {

namespace internal {

// The collection with each element once for each window that it lies in. A transform that looks at windows, or keeps state by
// them, reads its input through this; `name` is the transform's own. Every WindowFn assigns one window so far.
template <typename T>
PCollection<T> InEachWindow(const PCollection<T>& input, const std::string& name) {
  return input;
}

}  // namespace internal

inline WindowFn GlobalWindows() { return WindowFn::Global(); }
// [offset + n * size, offset + (n + 1) * size).
inline WindowFn FixedWindows(Duration size, Duration offset = {}) { return WindowFn::Fixed(size, offset); }

class WindowInto : public PTransform {
 public:
  explicit WindowInto(WindowFn fn) : fn_(fn) {}

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
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->new_operator = [fn = fn_] { return std::make_unique<engine::WindowIntoOperator>(fn); };
    return internal::Handle<T>(input.pipeline(),
                               input.pipeline().Add(name, "beam:transform:window_into:v1", {input.id()},
                                                    std::move(factory), {Apply(input.windowing())}, input.bounded()));
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
    return internal::Handle<T>(input.pipeline(),
                               input.pipeline().Add(name, "hornbeam:transform:with_watermark:v1", {input.id()},
                                                    std::move(factory), {input.windowing()}, input.bounded()));
  }

 private:
  BoundedOutOfOrderness estimator_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_WINDOW_H_
