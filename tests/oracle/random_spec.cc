#include "random_spec.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "model/calendar_windows.h"
#include "promise.h"
#include "two_spans.h"

namespace hornbeam::oracle {
namespace {

using Kind = Step::Kind;
using model::EventTime;
using model::Seconds;
using model::Trigger;
using model::WindowFn;
using model::WindowingStrategy;

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  PipelineSpec Next() {
    if (!OneIn(3)) mode_ = {.workers = 4, .crashes = true};
    if (OneIn(6)) {
      unit_s_ = 6 * 3600;
      begin_ = kBeforeSpring;
    }
    const bool has_two = OneIn(6);
    spec_.schedule = Schedule(has_two);
    int at = Elementwise(Step::kSource, 2);
    if (has_two) at = WithSecondSource(at);
    if (!OneIn(12)) at = Windowed(at);
    at = Elementwise(at, 1);
    if (OneIn(5)) at = Flattened(at);
    if (OneIn(6)) at = TryAdd(Kind::kDeduplicate, {at}, at);
    if (OneIn(8)) at = TryAdd(Kind::kBuffer, {at}, at);
    const int windowed = at;
    if (OneIn(8)) LookedUp(at);
    at = Grouped(at);
    if (OneIn(3)) Grouped(windowed);
    for (int more = Below(3); more > 0; --more) at = Chained(at);
    return std::move(spec_);
  }

 private:
  int Below(int n) { return static_cast<int>(rng_.Below(static_cast<uint64_t>(n))); }
  bool OneIn(int n) { return Below(n) == 0; }

  // The new step, or `otherwise` where nothing could be said of the pipeline with it.
  int Try(Step step, int otherwise) {
    spec_.steps.push_back(std::move(step));
    if (PromisesOf(spec_, mode_).ok()) return static_cast<int>(spec_.steps.size()) - 1;
    spec_.steps.pop_back();
    return otherwise;
  }
  int TryAdd(Kind kind, std::vector<int> inputs, int otherwise, int n = 1) {
    Step step;
    step.kind = kind;
    step.inputs = std::move(inputs);
    step.n = n;
    return Try(std::move(step), otherwise);
  }

  // Whole units of the pipeline's event time: seconds, or quarters of a day.
  EventTime At(int64_t n) const { return begin_ + Units(n); }
  model::Duration Units(int64_t n) const { return Seconds(n * unit_s_); }

  int WithSecondSource(int first) {
    spec_.second_schedule = Schedule(true);
    std::erase_if(spec_.second_schedule,
                  [](const StreamEvent& e) { return e.processing_time > model::Duration{}; });
    const int second = Elementwise(Step::kSecondSource, 1);
    return TryAdd(Kind::kFlatten, {first, second}, first);
  }

  int Elementwise(int from, int most) {
    for (int left = Below(most + 1); left > 0; --left) {
      const Kind kinds[] = {Kind::kMap, Kind::kFlatMap, Kind::kFilter, Kind::kWithKeys};
      from = TryAdd(kinds[Below(4)], {from}, from, 1 + Below(4));
    }
    return from;
  }
  int Windowed(int from) {
    Step step;
    step.kind = Kind::kWindowInto;
    step.inputs = {from};
    step.windowing = Windowing();
    return Try(std::move(step), from);
  }
  int Flattened(int from) {
    const int a = Elementwise(from, 1), b = Elementwise(from, 2);
    return TryAdd(Kind::kFlatten, {a, b}, from);
  }
  int Grouped(int from) {
    const Kind kinds[] = {Kind::kGroupByKey, Kind::kSum, Kind::kMax, Kind::kConcat};
    return TryAdd(kinds[Below(4)], {from}, from);
  }
  int Chained(int from) {
    from = Elementwise(from, 1);
    if (OneIn(3)) from = Windowed(from);
    if (OneIn(6)) from = Flattened(from);
    if (OneIn(8)) from = TryAdd(Kind::kDeduplicate, {from}, from);
    if (OneIn(8)) from = TryAdd(Kind::kBuffer, {from}, from);
    return Grouped(from);
  }
  // Looks up its keys in a sum of its own windows, which fires once.
  void LookedUp(int from) {
    Step side;
    side.kind = Kind::kWindowInto;
    side.inputs = {Elementwise(Step::kSource, 1)};
    do {
      side.windowing.window_fn = Windows();
    } while (side.windowing.window_fn.merges());
    const int windowed = Try(std::move(side), Step::kSource);
    const int sums = TryAdd(Kind::kSum, {windowed}, Step::kSource);
    if (sums != Step::kSource) TryAdd(Kind::kLookUp, {from, sums}, from);
  }

  // A trigger that fires once.
  Trigger Once(int depth) {
    switch (Below(depth > 0 ? 8 : 5)) {
      case 0:
      case 1:
      case 2: return Trigger::AfterCount(1 + Below(4));
      case 3: return Trigger::AfterWatermark();
      case 4: return Trigger::AfterProcessingTime(Seconds(Below(4) * 10));
      case 5: return Trigger::AfterAll({Once(depth - 1), Once(depth - 1)});
      default: return Trigger::AfterAny({Once(depth - 1), Once(depth - 1)});
    }
  }
  Trigger AnyTrigger(int depth) {
    switch (Below(depth > 0 ? 12 : 7)) {
      case 0: return Trigger::Default();
      case 1: return Trigger::Repeatedly(Once(1));
      case 2: return Trigger::AfterWatermark().WithEarly(Once(1)).WithLate(Once(1));
      case 3: return Trigger::AfterWatermark().WithEarly(Once(1));
      case 4: return Trigger::AfterWatermark().WithLate(Once(1));
      case 5: return OneIn(2) ? Trigger::Always() : Trigger::Never();
      case 6: return Once(1);
      case 7: return Trigger::AfterEach({Once(1), AnyTrigger(depth - 1)});
      case 8: return Trigger::AfterEach({Once(0), Once(0), Trigger::Repeatedly(Once(0))});
      case 9: return AnyTrigger(depth - 1).OrFinally(Once(1));
      case 10: return Trigger::Repeatedly(AnyTrigger(depth - 1));
      default: return Trigger::Repeatedly(Trigger::AfterAny({Once(1), Once(0)}));
    }
  }

  WindowFn Windows() {
    if (unit_s_ > 1 && OneIn(2)) return Calendar();
    const int size = 3 + Below(20);
    switch (Below(10)) {
      case 0: return WindowFn::Global();
      case 1:
      case 2: {
        const int period = 2 + Below(10);
        return WindowFn::Sliding(Units(size), Units(period), Units(Below(period)));
      }
      case 3:
      case 4: return WindowFn::Sessions(Units(size));
      case 5: return WindowFn::Custom(std::make_shared<TwoSpans>(Units(size), OneIn(2)));
      default: return WindowFn::Fixed(Units(size), Units(Below(3)));
    }
  }
  // The days of the schedule have one in them that is an hour shorter in Berlin.
  WindowFn Calendar() {
    using model::CalendarWindows;
    const CalendarWindows::Unit units[] = {CalendarWindows::Unit::kDay, CalendarWindows::Unit::kDay,
                                           CalendarWindows::Unit::kMonth, CalendarWindows::Unit::kYear};
    const char* const zones[] = {"Europe/Berlin", "America/New_York", "UTC"};
    const absl::CivilDay first(2023 + Below(3), 1 + Below(12), 1 + Below(28));
    return *CalendarWindows::Make(units[Below(4)], 1 + Below(3), first, zones[Below(3)]);
  }

  WindowingStrategy Windowing() {
    WindowingStrategy w;
    w.window_fn = Windows();
    // One in three may lose data; what it puts out is compared all the same.
    w.allowed_lateness = Units(OneIn(3) ? 0 : Below(40));
    do {
      w.trigger = AnyTrigger(2);
    } while (w.trigger.MayLoseData(w.allowed_lateness) && !OneIn(4));
    if (OneIn(2)) w.accumulation_mode = model::AccumulationMode::kAccumulating;
    if (OneIn(3)) w.timestamp_combiner = static_cast<model::TimestampCombiner>(Below(3));
    if (OneIn(4)) w.closing_behavior = model::ClosingBehavior::kFireAlways;
    if (OneIn(3)) w.on_time_behavior = model::OnTimeBehavior::kFireIfNonEmpty;
    return w;
  }

  std::vector<StreamEvent> Schedule(bool in_time) {
    std::vector<StreamEvent> schedule;
    const int keys = 1 + Below(5);
    int watermark = 0;
    if (!OneIn(4)) schedule.push_back({.watermark = At(0)});
    for (int left = 3 + Below(12); left > 0; --left) {
      switch (Below(5)) {
        case 0:
        case 1:
          watermark += OneIn(8) ? Below(80) : Below(15);
          schedule.push_back({.watermark = At(watermark)});
          break;
        case 2: schedule.push_back({.processing_time = Seconds(1 + Below(30))}); break;
        default: schedule.push_back({.elements = Elements(keys, watermark, in_time)});
      }
    }
    return schedule;
  }

  std::vector<StampedEvent> Elements(int keys, int watermark, bool in_time) {
    std::vector<StampedEvent> elements;
    for (int left = 1 + Below(6); left > 0; --left) {
      const int at = in_time ? watermark + Below(25) : std::max(0, watermark - 25 + Below(50));
      const bool just_before = OneIn(10) && !(in_time && at == watermark);
      elements.push_back({{absl::StrCat("k", Below(keys)), ++value_},
                          At(at) - model::Micros(just_before ? 1 : 0)});
    }
    return elements;
  }

  // 2024-03-20T00:00:00Z.
  static constexpr EventTime kBeforeSpring = EventTime::FromSeconds(1'710'892'800);

  Rng rng_;
  int64_t unit_s_ = 1;
  EventTime begin_ = EventTime::FromSeconds(0);
  PipelineSpec spec_;
  TestMode mode_;  // the most that something must be promised for
  int64_t value_ = 0;
};

}  // namespace

PipelineSpec RandomSpec(uint64_t seed) { return Generator(seed).Next(); }

std::vector<TestMode> RandomModes(uint64_t seed, const PipelineSpec& spec, int count) {
  Rng rng(~seed);
  const bool plain = !PromisesOf(spec, {.workers = 4, .crashes = true}).ok();
  const size_t batch_sizes[] = {1, 3, 1024};
  const int workers[] = {1, 2, 4};
  std::vector<TestMode> modes;
  for (int i = 0; i < count; ++i) {
    const bool crashes = i > 0 && (i + 1 == count || rng.OneIn(2));
    const size_t batch_size = batch_sizes[rng.Below(3)];
    const int many = workers[rng.Below(3)];
    modes.push_back({batch_size, plain ? 1 : many, crashes && !plain, rng.Next() >> 32, /*spills=*/rng.OneIn(3)});
  }
  return modes;
}

}  // namespace hornbeam::oracle
