// What has to come out of the soak test's job, computed plainly from its events, and what is wrong with what has.
#ifndef HORNBEAM_TESTS_SOAK_VERDICT_H_
#define HORNBEAM_TESTS_SOAK_VERDICT_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "soak_events.h"
#include "soak_rows.h"

namespace hornbeam::soak {

// All events of a plan, added up by branch, key and window.
class Expectation {
 public:
  explicit Expectation(const SoakPlan& plan);

  struct Expected {
    EventTime end;
    Totals totals;
  };
  // By the windows' starts; the windows of a key do not overlap.
  using Windows = std::map<EventTime, Expected>;
  const std::map<std::string, Windows>& of(Branch branch) const { return branches_[static_cast<size_t>(branch)]; }
  int64_t in_time() const { return fates_[0]; }
  int64_t late() const { return fates_[1]; }
  int64_t too_late() const { return fates_[2]; }

 private:
  void Add(Branch branch, const std::string& key, const Window& window, const Totals& totals);
  void AddToSession(const std::string& key, EventTime t, const Totals& totals);

  std::array<std::map<std::string, Windows>, std::size(kBranches)> branches_;
  std::array<int64_t, 3> fates_{};
};

struct Verdict {
  std::vector<std::string> problems;  // the first of them, each a sentence
  int64_t wrong = 0;                  // how many there are
  int64_t rows = 0;
  int64_t windows = 0;                // that are as expected
};

// Judges the rows, one a line. Of kSums every pane of a window has to be there once, from 0 on, and the last with the window's
// totals. Of the others the panes of a window have to add up to them; a session may come in parts, when an event joined what had
// been put out.
Verdict Judge(const Expectation& expectation, absl::string_view lines);

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_VERDICT_H_
