// A row of the soak test's output: one pane of one branch of the job, as a line of text.
#ifndef HORNBEAM_TESTS_SOAK_SOAK_ROWS_H_
#define HORNBEAM_TESTS_SOAK_SOAK_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "hornbeam/types.h"

namespace hornbeam::soak {

// kSums: sums by fixed window, each pane with all of it so far. The others' panes add up: kSessions, sums by session; kTimed, by fixed
// window, put out by timers; kPriced, of values times the price that a side input has for the window.
enum class Branch { kSums, kSessions, kTimed, kPriced };
inline constexpr Branch kBranches[] = {Branch::kSums, Branch::kSessions, Branch::kTimed, Branch::kPriced};

struct Totals {
  int64_t events = 0;
  int64_t sum = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};
HORNBEAM_CODER(Totals, events, sum)

struct SoakRow {
  Branch branch = Branch::kSums;
  std::string key;
  Window window;
  int64_t pane = 0;  // its index
  Totals totals;
};

const char* ToString(Branch branch);
std::string ToString(const SoakRow& row);
// None for a line that is no row.
std::optional<SoakRow> ParseRow(absl::string_view line);

}  // namespace hornbeam::soak

#endif  // HORNBEAM_TESTS_SOAK_SOAK_ROWS_H_
