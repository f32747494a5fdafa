#include "compare.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hornbeam::oracle {
namespace {

using Kind = Step::Kind;
using Lines = std::vector<std::string>;

Lines EveryPane(const std::vector<Pane>& panes) {
  Lines lines;
  for (const Pane& pane : panes) lines.push_back(ToString(pane));
  return lines;
}

// What panes of this kind hold together.
std::vector<int64_t> Together(Kind kind, std::vector<int64_t> a, const std::vector<int64_t>& b) {
  switch (kind) {
    case Kind::kSum: return {a[0] + b[0]};
    case Kind::kMax: return {std::max(a[0], b[0])};
    default:
      a.insert(a.end(), b.begin(), b.end());
      std::sort(a.begin(), a.end());
      return a;
  }
}

Lines UnionOrLast(Kind kind, bool accumulating, const std::vector<Pane>& panes) {
  std::map<std::pair<std::string, model::Window>, Pane> result;
  for (const Pane& pane : panes) {
    const auto [at, is_new] = result.try_emplace({pane.key, pane.window}, pane);
    if (is_new) continue;
    if (!accumulating) {
      at->second.values = Together(kind, std::move(at->second.values), pane.values);
    } else if (pane.pane.index > at->second.pane.index) {
      at->second = pane;
    }
  }
  Lines lines;
  for (const auto& [id, pane] : result) {
    lines.push_back(absl::StrCat(id.first, " {", absl::StrJoin(pane.values, ", "), "} ",
                                 model::ToString(id.second)));
  }
  return lines;
}

Lines LinesOf(const PipelineSpec& spec, int step, Promised promised, const Outputs& outputs) {
  const auto at = outputs.find(step);
  if (at == outputs.end()) return {};
  const bool accumulating =
      WindowingOf(spec, step).accumulation_mode == model::AccumulationMode::kAccumulating;
  Lines lines =
      promised == Promised::kPanes
          ? EveryPane(at->second)
          : UnionOrLast(spec.steps[static_cast<size_t>(step)].kind, accumulating, at->second);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Both sorted.
std::string Merged(const Lines& reference, const Lines& engine) {
  std::string text;
  size_t i = 0, j = 0;
  while (i < reference.size() || j < engine.size()) {
    if (j == engine.size() || (i < reference.size() && reference[i] < engine[j])) {
      absl::StrAppend(&text, "  - ", reference[i++], "\n");
    } else if (i == reference.size() || engine[j] < reference[i]) {
      absl::StrAppend(&text, "  + ", engine[j++], "\n");
    } else {
      absl::StrAppend(&text, "    ", engine[j++], "\n");
      ++i;
    }
  }
  return text;
}

}  // namespace

std::string Difference(const PipelineSpec& spec, const std::vector<Promise>& promises,
                       const Outputs& reference, const Outputs& engine) {
  std::string text;
  for (size_t i = 0; i < spec.steps.size(); ++i) {
    const int step = static_cast<int>(i);
    const Promised promised = promises[i].promised;
    const Lines expected = LinesOf(spec, step, promised, reference);
    const Lines actual = LinesOf(spec, step, promised, engine);
    if (expected == actual) continue;
    absl::StrAppend(&text, "#", i, " ",
                    promised == Promised::kPanes ? "panes" : "all panes together",
                    " (- reference, + engine):\n", Merged(expected, actual));
  }
  return text;
}

}  // namespace hornbeam::oracle
