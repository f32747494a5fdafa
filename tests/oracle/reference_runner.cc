#include "reference_runner.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "reference_grouping.h"
#include "reference_windows.h"

namespace hornbeam::oracle {
namespace {

using Kind = Step::Kind;
using model::EventTime;

// What a grouping of this kind makes of the values of a pane.
std::vector<int64_t> Reduce(Kind kind, std::vector<int64_t> values) {
  switch (kind) {
    case Kind::kSum: return {std::accumulate(values.begin(), values.end(), int64_t{0})};
    case Kind::kMax: {
      int64_t greatest = std::numeric_limits<int64_t>::lowest();
      for (const int64_t value : values) greatest = std::max(greatest, value);
      return {greatest};
    }
    default: std::sort(values.begin(), values.end()); return values;
  }
}

class Runner {
 public:
  explicit Runner(const PipelineSpec& spec) : spec_(spec), nodes_(spec.steps.size()) {
    for (int i = 0; i < count(); ++i) {
      Node& node = nodes_[At(i)];
      node.strategy = StrategyOf(i);
      node.output_strategy = node.strategy;
      if (!Spec(i).is_grouping()) continue;
      node.output_strategy.trigger = ContinuationOf(node.strategy.trigger);
      node.output_strategy.already_merged = node.strategy.window_fn.merges();
      node.grouping = std::make_unique<ReferenceGrouping>(
          node.strategy, [this, i](Firing firing) { PutOut(i, std::move(firing)); });
    }
  }

  Outputs Run() {
    for (const StreamEvent& event : spec_.schedule) {
      for (const StampedEvent& e : event.elements) {
        Forward(Step::kSource, {e.event.key,
                                e.event.value,
                                e.timestamp,
                                {model::Window::Global()},
                                model::PaneInfo::NoFiring()});
      }
      if (event.watermark > watermark_) AdvanceWatermark(event.watermark);
      if (event.processing_time > model::Duration{}) AdvanceClock(event.processing_time);
    }
    AdvanceWatermark(EventTime::Max());
    return std::move(outputs_);
  }

 private:
  struct Node {
    model::WindowingStrategy strategy;  // of its input; of a WindowInto, its own
    model::WindowingStrategy output_strategy;
    std::unique_ptr<ReferenceGrouping> grouping;
    std::set<std::pair<model::Window, std::string>> seen;  // kDeduplicate
    EventTime watermark = EventTime::Min();                // of its input
    EventTime output_watermark = EventTime::Min();
  };

  static size_t At(int step) { return static_cast<size_t>(step); }
  int count() const { return static_cast<int>(spec_.steps.size()); }
  const Step& Spec(int step) const { return spec_.steps[At(step)]; }

  model::WindowingStrategy StrategyOf(int step) const {
    if (Spec(step).kind == Kind::kWindowInto) return Spec(step).windowing;
    const int input = Spec(step).inputs[0];
    return input == Step::kSource ? model::WindowingStrategy{} : nodes_[At(input)].output_strategy;
  }

  void Forward(int from, const Element& element) {
    for (int i = 0; i < count(); ++i) {
      for (const int input : Spec(i).inputs) {
        if (input == from) Process(i, element);
      }
    }
  }

  void Output(int step, const Element& element) {
    if (IsObserved(spec_, step)) {
      for (const model::Window& window : element.windows) {
        outputs_[step].push_back(
            {element.key, {element.value}, window, element.timestamp, element.pane});
      }
    }
    Forward(step, element);
  }

  // Windows of a program's own function are elements of their own from here on, so that they come
  // in one order also where they merge.
  void OutputWindowed(int step, const Element& element) {
    if (nodes_[At(step)].strategy.window_fn.kind != model::WindowFn::Kind::kCustom) {
      return Output(step, element);
    }
    for (const model::Window& window : element.windows) {
      Element one = element;
      one.windows = {window};
      Output(step, one);
    }
  }

  void PutOut(int step, Firing firing) {
    std::vector<int64_t> values = Reduce(Spec(step).kind, std::move(firing.values));
    outputs_[step].push_back({firing.key, values, firing.window, firing.timestamp, firing.pane});
    Forward(step, {firing.key, Digest(values), firing.timestamp, {firing.window}, firing.pane});
  }

  void Process(int step, const Element& element) {
    Node& node = nodes_[At(step)];
    switch (Spec(step).kind) {
      case Kind::kMap:
      case Kind::kFlatMap:
      case Kind::kFilter:
      case Kind::kWithKeys:
        for (Event& event : ApplyElementwise(Spec(step), {element.key, element.value})) {
          Element next = element;
          next.key = std::move(event.key);
          next.value = event.value;
          Output(step, next);
        }
        return;
      case Kind::kWindowInto:
        for (size_t i = 0; i < element.windows.size(); ++i) {  // once for each window that it had
          Element next = element;
          next.windows = AssignWindows(node.strategy.window_fn, element.timestamp);
          OutputWindowed(step, next);
        }
        return;
      case Kind::kFlatten: Output(step, element); return;
      case Kind::kDeduplicate: Deduplicate(step, element); return;
      default: node.grouping->AddElement(element, now_); return;
    }
  }

  void Deduplicate(int step, const Element& element) {
    Node& node = nodes_[At(step)];
    for (const model::Window& window : element.windows) {
      if (ExpiryOf(window, node.strategy.allowed_lateness) < node.watermark) continue;
      if (!node.seen.insert({window, element.key}).second) continue;
      Element first = element;
      first.windows = {window};
      Output(step, first);
    }
  }

  void AdvanceWatermark(EventTime watermark) {
    watermark_ = watermark;
    for (int i = 0; i < count(); ++i) {
      EventTime input = EventTime::Max();
      for (const int from : Spec(i).inputs) {
        input =
            std::min(input, from == Step::kSource ? watermark_ : nodes_[At(from)].output_watermark);
      }
      Node& node = nodes_[At(i)];
      if (input <= node.watermark) continue;
      node.watermark = input;
      node.output_watermark =
          node.grouping != nullptr ? node.grouping->AdvanceWatermark(input, now_) : input;
    }
  }

  void AdvanceClock(model::Duration by) {
    const model::ProcessingTime before = now_;
    now_ = now_ + by;
    for (Node& node : nodes_) {
      if (node.grouping != nullptr) node.grouping->AdvanceClock(before, now_);
    }
  }

  const PipelineSpec& spec_;
  std::vector<Node> nodes_;
  Outputs outputs_;
  EventTime watermark_ = EventTime::Min();
  model::ProcessingTime now_{0};
};

}  // namespace

Outputs RunReference(const PipelineSpec& spec) { return Runner(spec).Run(); }

}  // namespace hornbeam::oracle
