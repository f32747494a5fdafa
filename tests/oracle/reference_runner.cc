#include "reference_runner.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "reference_buffer.h"
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
      if (Spec(i).kind == Kind::kBuffer) {
        node.buffer = std::make_unique<ReferenceBuffer>(
            node.strategy.allowed_lateness,
            [this, i](const std::string& key, const model::Window& window,
                      std::vector<int64_t> values, EventTime timestamp) {
              Output(i, {key, Digest(values), timestamp, {window}, model::PaneInfo::NoFiring()});
            });
      }
      if (!Spec(i).is_grouping()) continue;
      node.output_strategy.trigger = ContinuationOf(node.strategy.trigger);
      node.output_strategy.already_merged = node.strategy.window_fn.merges();
      node.grouping = std::make_unique<ReferenceGrouping>(
          node.strategy, [this, i](Firing firing) { PutOut(i, std::move(firing)); });
    }
  }

  Outputs Run() {
    // In turns; what is compared does not depend on it.
    for (size_t i = 0; i < std::max(spec_.schedule.size(), spec_.second_schedule.size()); ++i) {
      if (i < spec_.schedule.size()) Happen(Step::kSource, spec_.schedule[i]);
      if (i < spec_.second_schedule.size()) {
        Happen(Step::kSecondSource, spec_.second_schedule[i]);
      }
    }
    AdvanceWatermark(Step::kSource, EventTime::Max());
    AdvanceWatermark(Step::kSecondSource, EventTime::Max());
    for (int i = 0; i < count(); ++i) LookUp(i);
    return std::move(outputs_);
  }

 private:
  struct Node {
    model::WindowingStrategy strategy;  // of its input; of a WindowInto, its own
    model::WindowingStrategy output_strategy;
    std::unique_ptr<ReferenceGrouping> grouping;
    std::unique_ptr<ReferenceBuffer> buffer;               // kBuffer
    std::vector<Element> waiting;                          // kLookUp: each in one window
    std::set<std::pair<model::Window, std::string>> seen;  // kDeduplicate
    EventTime watermark = EventTime::Min();                // of its input
    EventTime output_watermark = EventTime::Min();
  };

  void Happen(int source, const StreamEvent& event) {
    for (const StampedEvent& e : event.elements) {
      Forward(source, {e.event.key,
                       e.event.value,
                       e.timestamp,
                       {model::Window::Global()},
                       model::PaneInfo::NoFiring()});
    }
    if (event.watermark > OutputWatermark(source)) AdvanceWatermark(source, event.watermark);
    if (event.processing_time > model::Duration{}) AdvanceClock(event.processing_time);
  }

  static size_t At(int step) { return static_cast<size_t>(step); }
  int count() const { return static_cast<int>(spec_.steps.size()); }
  const Step& Spec(int step) const { return spec_.steps[At(step)]; }

  model::WindowingStrategy StrategyOf(int step) const {
    if (Spec(step).kind == Kind::kWindowInto) return Spec(step).windowing;
    const int input = Spec(step).inputs[0];
    return input < 0 ? model::WindowingStrategy{} : nodes_[At(input)].output_strategy;
  }

  void Forward(int from, const Element& element) {
    for (int i = 0; i < count(); ++i) {
      for (size_t input = 0; input < Spec(i).inputs.size(); ++input) {
        const bool is_side = Spec(i).kind == Kind::kLookUp && input > 0;
        if (Spec(i).inputs[input] == from && !is_side) Process(i, element);
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
      case Kind::kBuffer: node.buffer->AddElement(element); return;
      case Kind::kLookUp: Wait(step, element); return;
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

  // What there is to see in a window is all there will ever be, so it may as well be looked up at
  // the end. An element for whose side window time has passed, with the lateness that is allowed,
  // is late.
  void Wait(int step, const Element& element) {
    const model::WindowFn& side = nodes_[At(Spec(step).inputs[1])].strategy.window_fn;
    Node& node = nodes_[At(step)];
    for (const model::Window& window : element.windows) {
      const EventTime end = SideWindow(side, window).MaxTimestamp();
      if (end < node.watermark - node.strategy.allowed_lateness) continue;
      node.waiting.push_back(element);
      node.waiting.back().windows = {window};
    }
  }
  void LookUp(int step) {
    for (const Element& element : nodes_[At(step)].waiting) {
      const int side = Spec(step).inputs[1];
      const model::Window window =
          SideWindow(nodes_[At(side)].strategy.window_fn, element.windows[0]);
      Element seen = element;
      for (const Pane& pane : outputs_[side]) {
        if (pane.key == element.key && pane.window == window) seen.value += Digest(pane.values);
      }
      Output(step, seen);
    }
  }

  EventTime OutputWatermark(int from) const {
    if (from == Step::kSource) return watermark_;
    return from == Step::kSecondSource ? second_watermark_ : nodes_[At(from)].output_watermark;
  }

  void AdvanceWatermark(int source, EventTime watermark) {
    (source == Step::kSource ? watermark_ : second_watermark_) = watermark;
    for (int i = 0; i < count(); ++i) {
      EventTime input = EventTime::Max();
      for (size_t k = 0; k < Spec(i).inputs.size(); ++k) {
        if (Spec(i).kind == Kind::kLookUp && k > 0) continue;  // a side input holds nothing back
        input = std::min(input, OutputWatermark(Spec(i).inputs[k]));
      }
      Node& node = nodes_[At(i)];
      if (input <= node.watermark) continue;
      node.watermark = input;
      node.output_watermark = node.grouping != nullptr
                                  ? node.grouping->AdvanceWatermark(input, now_)
                              : node.buffer != nullptr ? node.buffer->AdvanceWatermark(input)
                                                       : input;
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
  EventTime watermark_ = EventTime::Min(), second_watermark_ = EventTime::Min();  // of the sources
  model::ProcessingTime now_{0};
};

}  // namespace

Outputs RunReference(const PipelineSpec& spec) { return Runner(spec).Run(); }

}  // namespace hornbeam::oracle
