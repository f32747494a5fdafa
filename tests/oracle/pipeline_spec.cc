#include "pipeline_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hornbeam::oracle {
namespace {

using Kind = Step::Kind;

int64_t Modulo(int64_t value, int64_t n) { return ((value % n) + n) % n; }

const char* Name(Kind kind) {
  switch (kind) {
    case Kind::kMap: return "Map";
    case Kind::kFlatMap: return "FlatMap";
    case Kind::kFilter: return "Filter";
    case Kind::kWithKeys: return "WithKeys";
    case Kind::kWindowInto: return "WindowInto";
    case Kind::kFlatten: return "Flatten";
    case Kind::kDeduplicate: return "DeduplicatePerWindow";
    case Kind::kBuffer: return "Buffer";
    case Kind::kLookUp: return "LookUp";
    case Kind::kGroupByKey: return "GroupByKey";
    case Kind::kSum: return "CombinePerKey(Sum)";
    case Kind::kMax: return "CombinePerKey(Max)";
    case Kind::kConcat: return "CombinePerKey(Concat)";
  }
  return "?";
}

std::string ToString(const StreamEvent& event) {
  std::vector<std::string> parts;
  for (const StampedEvent& e : event.elements) {
    parts.push_back(
        absl::StrCat(e.event.key, "=", e.event.value, " at ", model::ToString(e.timestamp)));
  }
  std::string text = absl::StrJoin(parts, ", ");
  if (event.watermark > model::EventTime::Min()) {
    absl::StrAppend(&text, "watermark to ", model::ToString(event.watermark));
  }
  if (event.processing_time > model::Duration{}) {
    absl::StrAppend(&text, "clock by ", event.processing_time.us / 1'000'000, " s");
  }
  return text;
}

std::string InSeconds(model::Duration d) {
  return absl::StrCat(static_cast<double>(d.us) / 1e6, " s");
}

}  // namespace

model::WindowingStrategy WindowingOf(const PipelineSpec& spec, int step) {
  if (step < 0) return {};
  const Step& s = spec.steps[static_cast<size_t>(step)];
  if (s.kind == Kind::kWindowInto) return s.windowing;
  model::WindowingStrategy windowing = WindowingOf(spec, s.inputs[0]);
  if (s.is_grouping()) {
    windowing.trigger = windowing.trigger.Continuation();
    windowing.already_merged = windowing.window_fn.merges();
  }
  return windowing;
}

bool HasConsumer(const PipelineSpec& spec, int step) {
  return std::any_of(spec.steps.begin(), spec.steps.end(), [step](const Step& s) {
    return std::count(s.inputs.begin(), s.inputs.end(), step) > 0;
  });
}

bool IsInTime(const std::vector<StreamEvent>& schedule) {
  model::EventTime watermark = model::EventTime::Min();
  for (const StreamEvent& event : schedule) {
    for (const StampedEvent& element : event.elements) {
      if (element.timestamp < watermark) return false;
    }
    watermark = std::max(watermark, event.watermark);
  }
  return true;
}

bool IsObserved(const PipelineSpec& spec, int step) {
  const Step& s = spec.steps[static_cast<size_t>(step)];
  return s.is_grouping() || s.kind == Kind::kDeduplicate || s.kind == Kind::kBuffer ||
         !HasConsumer(spec, step);
}

std::vector<Event> ApplyElementwise(const Step& step, const Event& event) {
  switch (step.kind) {
    case Kind::kMap: return {{event.key, event.value + step.n}};
    case Kind::kFlatMap:
      return std::vector<Event>(static_cast<size_t>(Modulo(event.value, step.n + 1)), event);
    case Kind::kFilter:
      return Modulo(event.value, step.n + 1) != 0 ? std::vector<Event>{event}
                                                  : std::vector<Event>{};
    case Kind::kWithKeys: return {{absl::StrCat("g", Modulo(event.value, step.n)), event.value}};
    default: return {event};
  }
}

int64_t Digest(const std::vector<int64_t>& values) {
  int64_t digest = static_cast<int64_t>(values.size());
  for (const int64_t value : values) digest += Modulo(value, 1009);
  return digest;
}

std::string ToString(const model::WindowingStrategy& w) {
  std::string text = absl::StrCat(model::ToString(w.window_fn), ", ", model::ToString(w.trigger));
  if (w.allowed_lateness > model::Duration{}) {
    absl::StrAppend(&text, ", lateness ", InSeconds(w.allowed_lateness));
  }
  if (w.accumulation_mode == model::AccumulationMode::kAccumulating) {
    absl::StrAppend(&text, ", accumulating");
  }
  if (w.timestamp_combiner == model::TimestampCombiner::kEarliest) {
    absl::StrAppend(&text, ", earliest");
  }
  if (w.timestamp_combiner == model::TimestampCombiner::kLatest) absl::StrAppend(&text, ", latest");
  if (w.closing_behavior == model::ClosingBehavior::kFireAlways) {
    absl::StrAppend(&text, ", closing pane always");
  }
  if (w.on_time_behavior == model::OnTimeBehavior::kFireIfNonEmpty) {
    absl::StrAppend(&text, ", on-time pane if not empty");
  }
  return text;
}

std::string ToString(const Step& step) {
  std::string text = Name(step.kind);
  switch (step.kind) {
    case Kind::kMap: absl::StrAppend(&text, "(value + ", step.n, ")"); break;
    case Kind::kFlatMap: absl::StrAppend(&text, "(value mod ", step.n + 1, " times)"); break;
    case Kind::kFilter: absl::StrAppend(&text, "(value mod ", step.n + 1, " is not 0)"); break;
    case Kind::kWithKeys: absl::StrAppend(&text, "(g + value mod ", step.n, ")"); break;
    case Kind::kWindowInto: absl::StrAppend(&text, "(", ToString(step.windowing), ")"); break;
    default: break;
  }
  std::vector<std::string> inputs;
  for (const int input : step.inputs) {
    inputs.push_back(input == Step::kSource         ? "source"
                     : input == Step::kSecondSource ? "second source"
                                                    : absl::StrCat("#", input));
  }
  return absl::StrCat(text, " of ", absl::StrJoin(inputs, ", "));
}

std::string ToString(const PipelineSpec& spec) {
  std::string text;
  const auto add = [&text](const char* name, const std::vector<StreamEvent>& schedule) {
    absl::StrAppend(&text, name, ":\n");
    for (const StreamEvent& event : schedule) {
      absl::StrAppend(&text, "  ", ToString(event), "\n");
    }
  };
  add("source", spec.schedule);
  if (HasConsumer(spec, Step::kSecondSource)) add("second source", spec.second_schedule);
  absl::StrAppend(&text, "steps:\n");
  for (size_t i = 0; i < spec.steps.size(); ++i) {
    absl::StrAppend(&text, "  #", i, " ", ToString(spec.steps[i]), "\n");
  }
  return text;
}

}  // namespace hornbeam::oracle
