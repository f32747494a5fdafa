#include "verdict.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hornbeam::soak {
namespace {

constexpr size_t kProblemsTold = 20;

Totals& operator+=(Totals& into, const Totals& from) {
  into.events += from.events;
  into.sum += from.sum;
  return into;
}

std::string Describe(const Totals& totals) { return absl::StrCat(totals.events, " events with the sum ", totals.sum); }

std::string Describe(Branch branch, const std::string& key, EventTime start, EventTime end) {
  return absl::StrCat(ToString(branch), " of ", key, " in [", start.us, ", ", end.us, ") us");
}

// What came of one expected window.
struct Found {
  Totals totals;
  std::vector<std::pair<int64_t, Totals>> panes;  // kSums alone
};

class Judgement {
 public:
  explicit Judgement(const Expectation& expectation) : expectation_(expectation) {}

  void Take(absl::string_view line) {
    ++verdict_.rows;
    const std::optional<SoakRow> row = ParseRow(line);
    if (!row) return Wrong(absl::StrCat("not a row: '", line, "'"));
    const auto& keys = expectation_.of(row->branch);
    const auto key = keys.find(row->key);
    if (key == keys.end()) return Wrong(absl::StrCat("a row of a key that has no events: '", line, "'"));
    auto window = key->second.upper_bound(row->window.start);
    if (window == key->second.begin() || row->window.end > (--window)->second.end) {
      return Wrong(absl::StrCat("a row of a window that has no events: '", line, "'"));
    }
    Found& found = found_[static_cast<size_t>(row->branch)][row->key][window->first];
    if (row->branch == Branch::kSums) {
      found.panes.emplace_back(row->pane, row->totals);
    } else {
      found.totals += row->totals;
    }
  }

  Verdict Conclude() {
    for (const Branch branch : kBranches) {
      for (const auto& [key, windows] : expectation_.of(branch)) {
        for (const auto& [start, expected] : windows) Compare(branch, key, start, expected);
      }
    }
    return std::move(verdict_);
  }

 private:
  void Compare(Branch branch, const std::string& key, EventTime start, const Expectation::Expected& expected) {
    Found& found = found_[static_cast<size_t>(branch)][key][start];
    if (branch == Branch::kSums && !TakeLastPane(found)) {
      return Wrong(absl::StrCat(Describe(branch, key, start, expected.end), ": panes are missing or there twice"));
    }
    if (found.totals == expected.totals) {
      ++verdict_.windows;
      return;
    }
    Wrong(absl::StrCat(Describe(branch, key, start, expected.end), ": ", Describe(found.totals), ", and there should be ",
                       Describe(expected.totals)));
  }

  static bool TakeLastPane(Found& found) {
    std::sort(found.panes.begin(), found.panes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < found.panes.size(); ++i) {
      if (found.panes[i].first != static_cast<int64_t>(i)) return false;
    }
    if (!found.panes.empty()) found.totals = found.panes.back().second;
    return true;
  }

  void Wrong(std::string problem) {
    ++verdict_.wrong;
    if (verdict_.problems.size() < kProblemsTold) verdict_.problems.push_back(std::move(problem));
  }

  const Expectation& expectation_;
  std::array<std::map<std::string, std::map<EventTime, Found>>, std::size(kBranches)> found_;
  Verdict verdict_;
};

}  // namespace

Expectation::Expectation(const SoakPlan& plan) {
  for (int64_t n = 0; n < plan.events; ++n) {
    const TimedEvent timed = EventOf(plan, n);
    ++fates_[static_cast<size_t>(timed.fate)];
    if (timed.fate == Fate::kTooLate) continue;
    const Event& event = timed.event;
    const int64_t number = WindowOf(timed.time);
    const EventTime start = EventTime::FromMicros(number * kWindow.us);
    const Window window{start, start + kWindow};
    const Totals totals{1, event.value};
    Add(Branch::kSums, event.key, window, totals);
    Add(Branch::kTimed, event.key, window, totals);
    Add(Branch::kPriced, event.key, window, {1, event.value * PriceOf(plan, number, event.price_class)});
    AddToSession(event.key, timed.time, totals);
  }
}

void Expectation::Add(Branch branch, const std::string& key, const Window& window, const Totals& totals) {
  Expected& expected = branches_[static_cast<size_t>(branch)][key][window.start];
  expected.end = window.end;
  expected.totals += totals;
}

void Expectation::AddToSession(const std::string& key, EventTime t, const Totals& totals) {
  Windows& sessions = branches_[static_cast<size_t>(Branch::kSessions)][key];
  Window session{t, t + kSessionGap};
  Totals together = totals;
  // Those that overlap it become one with it.
  auto at = sessions.lower_bound(session.start);
  if (at != sessions.begin() && std::prev(at)->second.end > session.start) --at;
  while (at != sessions.end() && at->first < session.end) {
    session = {std::min(session.start, at->first), std::max(session.end, at->second.end)};
    together += at->second.totals;
    at = sessions.erase(at);
  }
  sessions[session.start] = {session.end, together};
}

Verdict Judge(const Expectation& expectation, absl::string_view lines) {
  Judgement judgement(expectation);
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) judgement.Take(line);
  return judgement.Conclude();
}

}  // namespace hornbeam::soak
