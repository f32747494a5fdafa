#include "promise.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hornbeam::oracle {
namespace {

using Kind = Step::Kind;
using Order = Promise::Order;
using model::Trigger;

bool HasAny(const Trigger& trigger, bool (*is_one)(const Trigger&)) {
  return is_one(trigger) ||
         std::any_of(trigger.children.begin(), trigger.children.end(),
                     [is_one](const Trigger& child) { return HasAny(child, is_one); });
}

bool UsesClock(const Trigger& trigger) {
  return HasAny(trigger,
                [](const Trigger& t) { return t.kind == Trigger::Kind::kAfterProcessingTime; });
}

// Its panes follow from the watermark alone, whatever the order of the elements.
bool FollowsWatermark(const model::WindowingStrategy& windowing) {
  return windowing.allowed_lateness == model::Duration{} &&
         !HasAny(windowing.trigger, [](const Trigger& t) {
           return t.kind == Trigger::Kind::kAfterCount || t.kind == Trigger::Kind::kAlways ||
                  t.kind == Trigger::Kind::kAfterProcessingTime;
         });
}

// A collection that is a map by key in each window, and the same whenever one looks: each key's one
// pane.
bool IsMap(const PipelineSpec& spec, int step) {
  if (step < 0 || spec.steps[static_cast<size_t>(step)].kind != Kind::kSum) return false;
  const model::WindowingStrategy windowing = WindowingOf(spec, step);
  return windowing.trigger == Trigger::Default() &&
         windowing.allowed_lateness == model::Duration{} && !windowing.window_fn.merges() &&
         windowing.window_fn.kind != model::WindowFn::Kind::kCustom;
}

Status Refuse(size_t step, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("step #", step, " ", why));
}

StatusOr<Promise> OfGrouping(const PipelineSpec& spec, size_t at, Promise input,
                             const TestMode& mode) {
  const model::WindowingStrategy windowing = WindowingOf(spec, spec.steps[at].inputs[0]);
  Promise promise = input;
  promise.order = Order::kPerKey;
  // Beam's merging loses what meets a window that is closed; the engine keeps it
  // (merging_grouping.h).
  if (windowing.merges() && windowing.trigger.MayLoseData(windowing.allowed_lateness)) {
    return Refuse(at, "closes windows that may merge");
  }
  const bool in_one_queue = mode.workers == 1 && !mode.crashes;
  const bool has_late_panes = windowing.allowed_lateness > model::Duration{};
  const bool uses_clock = UsesClock(windowing.trigger);
  promise.is_steady = input.is_steady && !uses_clock && (in_one_queue || !has_late_panes);
  promise.is_prompt = input.is_prompt && (in_one_queue || FollowsWatermark(windowing));
  const bool in_order = input.order != Order::kNone || FollowsWatermark(windowing);
  if (in_order && input.is_steady && (input.is_prompt || !uses_clock)) return promise;
  promise.promised = Promised::kUnion;
  if (windowing.merges()) return Refuse(at, "may fire before or after windows have merged");
  if (windowing.trigger.MayLoseData(windowing.allowed_lateness)) {
    return Refuse(at, "may lose data, and which depends on the order");
  }
  if (HasConsumer(spec, static_cast<int>(at))) {
    return Refuse(at, "has panes that depend on the order, and is read");
  }
  return promise;
}

StatusOr<Promise> OfStep(const PipelineSpec& spec, size_t at, const std::vector<Promise>& before,
                         const TestMode& mode) {
  const Step& step = spec.steps[at];
  Promise promise;
  for (const int from : step.inputs) {
    if (from == Step::kSecondSource) promise.is_prompt = false;
    if (from < 0) continue;
    if (from >= static_cast<int>(at)) return Refuse(at, "reads a later one");
    const Promise& input = before[static_cast<size_t>(from)];
    promise.order = std::max(promise.order, input.order);
    promise.is_steady &= input.is_steady;
    promise.is_prompt &= input.is_prompt;
  }
  // Without a grouping in front, so that its watermark is the source's.
  const bool is_from_source = step.inputs[0] < 0 ||
                              before[static_cast<size_t>(step.inputs[0])].order == Order::kTotal;
  if (step.is_grouping()) return OfGrouping(spec, at, promise, mode);
  switch (step.kind) {
    case Kind::kWithKeys:
      if (promise.order == Order::kPerKey) promise.order = Order::kNone;
      break;
    case Kind::kFlatten:
      for (const int from : step.inputs) {
        if (WindowingOf(spec, from) != WindowingOf(spec, step.inputs[0])) {
          return Refuse(at, "flattens what is windowed differently");
        }
      }
      if (step.inputs.size() > 1) promise.order = Order::kNone;
      break;
    case Kind::kDeduplicate:
      if (WindowingOf(spec, step.inputs[0]).merges()) return Refuse(at, "has no windows yet");
      if (promise.order == Order::kNone || !promise.is_steady) {
        return Refuse(at, "keeps the first element, and which that is depends on the order");
      }
      promise.order = Order::kPerKey;
      break;
    case Kind::kBuffer: {
      if (WindowingOf(spec, step.inputs[0]).merges()) return Refuse(at, "has no windows yet");
      if (promise.order == Order::kNone || !promise.is_steady) {
        return Refuse(at, "puts out what has come so far, which depends on the order");
      }
      promise.order = Order::kPerKey;
      // Its timers hold the watermark at elements that are behind it: late panes, for what follows.
      const bool in_one_queue = mode.workers == 1 && !mode.crashes;
      promise.is_steady = promise.is_prompt = in_one_queue;
      break;
    }
    case Kind::kLookUp:
      if (step.inputs.size() != 2 || !IsMap(spec, step.inputs[1])) {
        return Refuse(at, "looks into what may change");
      }
      if (WindowingOf(spec, step.inputs[0]).merges()) return Refuse(at, "has no windows yet");
      // Elements that wait come when their windows are seen: in which order, nobody promises.
      if (!is_from_source || HasConsumer(spec, static_cast<int>(at))) {
        return Refuse(at, "may find an element late or not");
      }
      break;
    case Kind::kWindowInto:
      if (!promise.is_steady) return Refuse(at, "windows anew what may be late or not");
      if (WindowingOf(spec, step.inputs[0]).already_merged) promise.order = Order::kNone;
      break;
    default: break;
  }
  return promise;
}

}  // namespace

StatusOr<std::vector<Promise>> PromisesOf(const PipelineSpec& spec, const TestMode& mode) {
  if (HasConsumer(spec, Step::kSecondSource) &&
      !(IsInTime(spec.schedule) && IsInTime(spec.second_schedule))) {
    return absl::InvalidArgumentError("an element may be late or not, as the other stream goes on");
  }
  std::vector<Promise> promises;
  for (size_t i = 0; i < spec.steps.size(); ++i) {
    HB_ASSIGN_OR_RETURN(const Promise promise, OfStep(spec, i, promises, mode));
    promises.push_back(promise);
  }
  return promises;
}

}  // namespace hornbeam::oracle
