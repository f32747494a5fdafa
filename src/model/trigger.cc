#include "model/trigger.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hornbeam::model {
namespace {

using Kind = Trigger::Kind;

const char* Name(Kind kind) {
  switch (kind) {
    case Kind::kDefault: return "Default";
    case Kind::kAfterWatermark: return "AfterWatermark";
    case Kind::kAfterProcessingTime: return "AfterProcessingTime";
    case Kind::kAfterCount: return "AfterCount";
    case Kind::kRepeatedly: return "Repeatedly";
    case Kind::kAfterAll: return "AfterAll";
    case Kind::kAfterAny: return "AfterAny";
    case Kind::kAfterEach: return "AfterEach";
    case Kind::kOrFinally: return "OrFinally";
    case Kind::kAlways: return "Always";
    case Kind::kNever: return "Never";
  }
  return "?";
}

std::string InUnits(Duration d) {
  if (d.us % 1'000'000 == 0) return absl::StrCat(d.us / 1'000'000, "s");
  if (d.us % 1'000 == 0) return absl::StrCat(d.us / 1'000, "ms");
  return absl::StrCat(d.us, "us");
}

size_t NodeCount(const Trigger& trigger) {
  size_t n = 1;
  for (const Trigger& child : trigger.children) n += NodeCount(child);
  return n;
}

// Null where the node itself, its children left aside, is in order; otherwise what is wrong with
// it.
const char* Fault(const Trigger& t) {
  if (t.kind != Kind::kAfterWatermark && (t.has_early || t.has_late)) {
    return "only AfterWatermark has early and late firings";
  }
  switch (t.kind) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return t.children.empty() ? nullptr : "takes no triggers inside it";
    case Kind::kAfterProcessingTime:
      if (t.delay < Duration{}) return "the delay must not be negative";
      return t.children.empty() ? nullptr : "takes no triggers inside it";
    case Kind::kAfterCount:
      if (t.count < 1) return "the count must be at least 1";
      return t.children.empty() ? nullptr : "takes no triggers inside it";
    case Kind::kAfterWatermark:
      return t.children.size() == static_cast<size_t>(t.has_early) + t.has_late
                 ? nullptr
                 : "takes an early and a late trigger and no other";
    case Kind::kRepeatedly:
      return t.children.size() == 1 ? nullptr : "needs exactly one trigger to repeat";
    case Kind::kOrFinally:
      return t.children.size() == 2 ? nullptr
                                    : "needs exactly two triggers, the main and the final";
    case Kind::kAfterAll:
    case Kind::kAfterAny:
    case Kind::kAfterEach:
      return t.children.empty() ? "needs at least one trigger inside it" : nullptr;
  }
  return "is of an unknown kind";
}

Status ValidateTree(const Trigger& t) {
  if (const char* fault = Fault(t)) {
    return absl::InvalidArgumentError(absl::StrCat(ToString(t), ": ", fault));
  }
  for (const Trigger& child : t.children) {
    if (Status status = ValidateTree(child); !status.ok()) {
      return Annotate(status, absl::StrCat("in ", Name(t.kind)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Trigger Trigger::WithEarly(Trigger early) const {
  Trigger result = *this;
  if (has_early) {
    result.children.front() = std::move(early);
  } else {
    result.children.insert(result.children.begin(), std::move(early));
    result.has_early = true;
  }
  return result;
}

Trigger Trigger::WithLate(Trigger late) const {
  Trigger result = *this;
  if (has_late) {
    result.children.back() = std::move(late);
  } else {
    result.children.push_back(std::move(late));
    result.has_late = true;
  }
  return result;
}

Trigger Trigger::Continuation() const {
  std::vector<Trigger> continued;
  continued.reserve(children.size());
  for (const Trigger& child : children) continued.push_back(child.Continuation());
  switch (kind) {
    case Kind::kDefault:
    case Kind::kAlways:
    case Kind::kNever: return *this;
    case Kind::kAfterCount: return AfterCount(1);
    case Kind::kAfterProcessingTime: return AfterProcessingTime({});
    case Kind::kAfterEach: return Repeatedly(AfterAny(std::move(continued)));
    case Kind::kAfterWatermark:
    case Kind::kRepeatedly:
    case Kind::kAfterAll:
    case Kind::kAfterAny:
    case Kind::kOrFinally: break;
  }
  Trigger same_shape = *this;
  same_shape.children = std::move(continued);
  return kind == Kind::kOrFinally ? Repeatedly(std::move(same_shape)) : same_shape;
}

bool Trigger::MayLoseData(Duration allowed_lateness) const {
  const auto loses = [&](const Trigger& child) { return child.MayLoseData(allowed_lateness); };
  switch (kind) {
    case Kind::kDefault:
    case Kind::kRepeatedly:
    case Kind::kAlways:
    case Kind::kNever: return false;
    case Kind::kAfterCount:
    case Kind::kAfterProcessingTime: return true;
    case Kind::kAfterWatermark: return !has_late && allowed_lateness > Duration{};
    case Kind::kAfterAny:
    case Kind::kOrFinally: return std::any_of(children.begin(), children.end(), loses);
    case Kind::kAfterAll:
    case Kind::kAfterEach: return std::all_of(children.begin(), children.end(), loses);
  }
  return true;
}

Status Trigger::Validate() const {
  if (const size_t nodes = NodeCount(*this); nodes > kMaxNodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a trigger of ", nodes, " parts is too large; at most ", kMaxNodes, " are allowed"));
  }
  return ValidateTree(*this);
}

std::string ToString(const Trigger& trigger) {
  std::vector<std::string> parts;
  switch (trigger.kind) {
    case Kind::kAfterCount: parts.push_back(absl::StrCat(trigger.count)); break;
    case Kind::kAfterProcessingTime: parts.push_back(InUnits(trigger.delay)); break;
    default: break;
  }
  for (size_t i = 0; i < trigger.children.size(); ++i) {
    const bool is_early = trigger.has_early && i == 0;
    const bool is_late = trigger.has_late && i + 1 == trigger.children.size();
    parts.push_back(absl::StrCat(is_early  ? "early="
                                 : is_late ? "late="
                                           : "",
                                 ToString(trigger.children[i])));
  }
  if (parts.empty()) return Name(trigger.kind);
  return absl::StrCat(Name(trigger.kind), "(", absl::StrJoin(parts, ", "), ")");
}

}  // namespace hornbeam::model
