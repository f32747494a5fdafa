#include "engine_run.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/test_stream.h"
#include "hornbeam/transforms/side_input.h"

namespace hornbeam::oracle {
namespace {

using Kind = Step::Kind;
using Values = std::vector<int64_t>;

// All values, sorted: associative and commutative, and hides nothing.
struct Concat {
  using InputT = int64_t;
  using AccumulatorT = Values;
  using OutputT = Values;
  Values CreateAccumulator() const { return {}; }
  void AddInput(Values& all, int64_t value) const {
    all.insert(std::upper_bound(all.begin(), all.end(), value), value);
  }
  void MergeAccumulators(Values& into, const Values& from) const {
    Values merged;
    std::merge(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
    into = std::move(merged);
  }
  Values ExtractOutput(const Values& all) const { return all; }
};

// kBuffer.
struct Buffer : StatefulDoFn {
  BagState<int64_t> values{"values"};
  ValueState<EventTime> first{"first"};
  EventTimer flush{"flush"};
  void ProcessElement(const Event& event, const ElementContext& context, OutputReceiver<Event>&) {
    if (first.IsEmpty() || context.timestamp() < first.Read()) first.Write(context.timestamp());
    values.Add(event.value);
    flush.WithOutputTimestamp(first.Read()).Set(context.window().MaxTimestamp());
  }
  void OnTimer(const std::string& key, const TimerContext&, OutputReceiver<Event>& out) {
    out.Output({key, Digest(values.Take())});
    first.Clear();
  }
};

// The values of an element as the oracle compares them.
Values Sorted(int64_t value) { return {value}; }
Values Sorted(Values values) {
  std::sort(values.begin(), values.end());
  return values;
}

template <typename V>
using Collectors = std::map<int, Collector<KV<std::string, V>>>;

template <typename V>
void Take(const Collectors<V>& collectors, Outputs* outputs) {
  for (const auto& [step, collector] : collectors) {
    std::vector<Pane>& panes = (*outputs)[step];
    for (const auto& e : collector.elements()) {
      panes.push_back({e.value.key, Sorted(e.value.value), e.window, e.timestamp, e.pane});
    }
  }
}

TestStream<Event> StreamOf(const std::vector<StreamEvent>& schedule) {
  TestStream<Event> stream;
  for (const StreamEvent& event : schedule) {
    if (!event.elements.empty()) {
      std::vector<TimestampedValue<Event>> elements;
      for (const StampedEvent& e : event.elements) elements.push_back({e.event, e.timestamp});
      stream = stream.AddTimestamped(std::move(elements));
    }
    if (event.watermark > EventTime::Min()) stream = stream.AdvanceWatermarkTo(event.watermark);
    if (event.processing_time > Duration{}) {
      stream = stream.AdvanceProcessingTime(event.processing_time);
    }
  }
  return stream.AdvanceWatermarkToInfinity();
}

WindowInto WindowingOf(const WindowingStrategy& w) {
  WindowInto into = WindowInto(w.window_fn)
                        .Triggering(w.trigger)
                        .WithAllowedLateness(w.allowed_lateness)
                        .WithTimestampCombiner(w.timestamp_combiner)
                        .WithClosingBehavior(w.closing_behavior)
                        .WithOnTimeBehavior(w.on_time_behavior);
  return w.accumulation_mode == AccumulationMode::kAccumulating ? into.AccumulatingFiredPanes()
                                                                : into.DiscardingFiredPanes();
}

class Builder {
 public:
  Builder(const PipelineSpec& spec, Collectors<int64_t>* numbers, Collectors<Values>* lists)
      : spec_(spec), numbers_(numbers), lists_(lists) {}

  void Build(Pipeline& pipeline) {
    pipeline.options().allow_unsafe_triggers = true;  // what they do is compared, too
    collections_.clear();
    source_ = pipeline.Apply("Source", StreamOf(spec_.schedule));
    if (HasConsumer(spec_, Step::kSecondSource)) {
      second_source_ = pipeline.Apply("SecondSource", StreamOf(spec_.second_schedule));
    }
    for (size_t i = 0; i < spec_.steps.size(); ++i) {
      name_ = absl::StrCat("Step", i);
      step_ = static_cast<int>(i);
      collections_.push_back(Apply(spec_.steps[i]));
    }
  }

 private:
  using Events = PCollection<Event>;

  Events InputOf(int step) const {
    if (step == Step::kSource) return source_;
    return step == Step::kSecondSource ? second_source_ : collections_[static_cast<size_t>(step)];
  }

  Events Apply(const Step& step) {
    const Events input = InputOf(step.inputs[0]);
    switch (step.kind) {
      case Kind::kWindowInto: return Observed(input.Apply(name_, WindowingOf(step.windowing)));
      case Kind::kFlatten: {
        std::vector<Events> inputs;
        for (const int from : step.inputs) inputs.push_back(InputOf(from));
        return Observed(Flatten(name_, inputs));
      }
      case Kind::kDeduplicate: return Observed(input.Apply(name_, DeduplicatePerWindow()));
      case Kind::kBuffer: return Observed(input.Apply(name_, ParDo<Event>(Buffer())));
      case Kind::kLookUp: {
        const auto view = InputOf(step.inputs[1]).Apply(absl::StrCat(name_, "/View"), AsMap());
        const auto look = [](const Event& event, const auto& values) {
          const auto at = values.find(event.key);
          return Event{event.key, event.value + (at == values.end() ? 0 : at->second)};
        };
        return Observed(input.Apply(name_, MapWithSideInputs(look, view)));
      }
      case Kind::kGroupByKey: return Digested(input.Apply(name_, GroupByKey()));
      case Kind::kSum: return Digested(input.Apply(name_, CombinePerKey(Sum<int64_t>())));
      case Kind::kMax: return Digested(input.Apply(name_, CombinePerKey(Max<int64_t>())));
      case Kind::kConcat: return Digested(input.Apply(name_, CombinePerKey(Concat())));
      default:
        return Observed(
            input.Apply(name_, ParDo<Event>([step](const Event& event, OutputReceiver<Event>& out) {
                          for (Event& e : ApplyElementwise(step, event)) out.Output(std::move(e));
                        })));
    }
  }

  Events Observed(const Events& events) {
    if (IsObserved(spec_, step_)) {
      events.Apply(absl::StrCat(name_, "/Collect"), Collect(&(*numbers_)[step_]));
    }
    return events;
  }
  template <typename V>
  Events Digested(const PCollection<KV<std::string, V>>& panes) {
    if constexpr (std::is_same_v<V, int64_t>) {
      panes.Apply(absl::StrCat(name_, "/Collect"), Collect(&(*numbers_)[step_]));
    } else {
      panes.Apply(absl::StrCat(name_, "/Collect"), Collect(&(*lists_)[step_]));
    }
    return panes.Apply(absl::StrCat(name_, "/Digest"), Map([](const KV<std::string, V>& pane) {
                         return Event{pane.key, Digest(Sorted(pane.value))};
                       }));
  }

  const PipelineSpec& spec_;
  Collectors<int64_t>* const numbers_;
  Collectors<Values>* const lists_;
  std::string name_;
  int step_ = 0;
  Events source_, second_source_;
  std::vector<Events> collections_;
};

}  // namespace

StatusOr<Outputs> RunOnEngine(const PipelineSpec& spec, const TestMode& mode) {
  Collectors<int64_t> numbers;
  Collectors<Values> lists;
  Builder builder(spec, &numbers, &lists);
  HB_RETURN_IF_ERROR(RunInMode(mode, [&](Pipeline& pipeline) { builder.Build(pipeline); }));
  Outputs outputs;
  Take(numbers, &outputs);
  Take(lists, &outputs);
  return outputs;
}

}  // namespace hornbeam::oracle
