#include "shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hornbeam::oracle {
namespace {

using model::Trigger;
using model::WindowingStrategy;

// Smaller pipelines, each by one change.
class Candidates {
 public:
  explicit Candidates(const Failure& from) : from_(from) {}

  std::vector<Failure> All() {
    SimplerModes();
    for (size_t i = 0; i < from_.spec.steps.size(); ++i) WithoutStep(i);
    for (const auto schedule : {&PipelineSpec::schedule, &PipelineSpec::second_schedule}) {
      for (size_t i = 0; i < (from_.spec.*schedule).size(); ++i) SmallerEvent(schedule, i);
    }
    for (size_t i = 0; i < from_.spec.steps.size(); ++i) {
      if (from_.spec.steps[i].kind == Step::Kind::kWindowInto) SimplerWindowing(i);
    }
    return std::move(all_);
  }

 private:
  template <typename Change>
  void Add(Change change) {
    Failure next = from_;
    change(next);
    if (next.spec == from_.spec && ToString(next.mode) == ToString(from_.mode)) return;
    all_.push_back(std::move(next));
  }

  void SimplerModes() {
    Add([](Failure& f) { f.mode.crashes = false; });
    Add([](Failure& f) { f.mode.spills = false; });
    Add([](Failure& f) { f.mode.workers = 1; });
    Add([](Failure& f) { f.mode.workers = std::min(f.mode.workers, 2); });
    Add([](Failure& f) { f.mode.batch_size = 1024; });
    Add([](Failure& f) { f.mode.seed = 1; });
  }

  // Its readers read its input instead.
  void WithoutStep(size_t at) {
    Add([at](Failure& f) {
      const int gone = static_cast<int>(at), instead = f.spec.steps[at].inputs[0];
      f.spec.steps.erase(f.spec.steps.begin() + gone);
      for (Step& step : f.spec.steps) {
        for (int& input : step.inputs) {
          if (input == gone) input = instead;
          if (input > gone) --input;
        }
      }
    });
    if (from_.spec.steps[at].inputs.size() > 1) {
      Add([at](Failure& f) { f.spec.steps[at].inputs.pop_back(); });
    }
  }

  void SmallerEvent(std::vector<StreamEvent> PipelineSpec::* schedule, size_t at) {
    Add([=](Failure& f) {
      (f.spec.*schedule).erase((f.spec.*schedule).begin() + static_cast<ptrdiff_t>(at));
    });
    const size_t elements = (from_.spec.*schedule)[at].elements.size();
    for (size_t i = 0; elements > 1 && i < elements; ++i) {
      Add([=](Failure& f) {
        std::vector<StampedEvent>& all = (f.spec.*schedule)[at].elements;
        all.erase(all.begin() + static_cast<ptrdiff_t>(i));
      });
    }
  }

  template <typename Change>
  void Rewindow(size_t step, Change change) {
    Add([&](Failure& f) { change(f.spec.steps[step].windowing); });
  }
  void SimplerWindowing(size_t step) {
    const WindowingStrategy plain;
    Rewindow(step, [&](WindowingStrategy& w) { w.accumulation_mode = plain.accumulation_mode; });
    Rewindow(step, [&](WindowingStrategy& w) { w.timestamp_combiner = plain.timestamp_combiner; });
    Rewindow(step, [&](WindowingStrategy& w) { w.closing_behavior = plain.closing_behavior; });
    Rewindow(step, [&](WindowingStrategy& w) { w.on_time_behavior = plain.on_time_behavior; });
    Rewindow(step, [&](WindowingStrategy& w) { w.allowed_lateness = plain.allowed_lateness; });
    Rewindow(step, [&](WindowingStrategy& w) { w.window_fn.offset = {}; });
    Rewindow(step, [&](WindowingStrategy& w) {
      if (!w.window_fn.is_partition() || w.window_fn.custom != nullptr) w.window_fn = model::WindowFn::Fixed(model::Seconds(10));
    });
    Rewindow(step, [&](WindowingStrategy& w) { w.window_fn = plain.window_fn; });
    for (Trigger& trigger : Simpler(from_.spec.steps[step].windowing.trigger)) {
      Rewindow(step, [&](WindowingStrategy& w) { w.trigger = std::move(trigger); });
    }
  }

  static std::vector<Trigger> Simpler(const Trigger& trigger) {
    std::vector<Trigger> simpler;
    if (trigger.kind != Trigger::Kind::kDefault) simpler.push_back(Trigger::Default());
    for (const Trigger& child : trigger.children) simpler.push_back(child);
    if (trigger.count > 1) simpler.push_back(Trigger::AfterCount(trigger.count - 1));
    for (size_t i = 0; i < trigger.children.size(); ++i) {
      for (Trigger& child : Simpler(trigger.children[i])) {
        simpler.push_back(trigger);
        simpler.back().children[i] = std::move(child);
      }
    }
    return simpler;
  }

  const Failure& from_;
  std::vector<Failure> all_;
};

}  // namespace

Failure Shrink(Failure failure, const std::function<bool(const Failure&)>& fails) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (Failure& candidate : Candidates(failure).All()) {
      if (!fails(candidate)) continue;
      failure = std::move(candidate);
      smaller = true;
      break;
    }
  }
  return failure;
}

}  // namespace hornbeam::oracle
