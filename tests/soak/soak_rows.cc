#include "soak_rows.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hornbeam::soak {

const char* ToString(Branch branch) {
  switch (branch) {
    case Branch::kSums: return "sums";
    case Branch::kSessions: return "sessions";
    case Branch::kTimed: return "timed";
    case Branch::kPriced: return "priced";
  }
  return "?";
}

std::string ToString(const SoakRow& row) {
  return absl::StrCat(ToString(row.branch), " ", row.key, " ", row.window.start.us, " ", row.window.end.us, " ", row.pane, " ",
                      row.totals.events, " ", row.totals.sum);
}

std::optional<SoakRow> ParseRow(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
  if (fields.size() != 7) return std::nullopt;
  SoakRow row;
  const auto branch = std::find_if(std::begin(kBranches), std::end(kBranches), [&](Branch b) { return fields[0] == ToString(b); });
  if (branch == std::end(kBranches)) return std::nullopt;
  row.branch = *branch;
  row.key = std::string(fields[1]);
  const bool numbers = absl::SimpleAtoi(fields[2], &row.window.start.us) && absl::SimpleAtoi(fields[3], &row.window.end.us) &&
                       absl::SimpleAtoi(fields[4], &row.pane) && absl::SimpleAtoi(fields[5], &row.totals.events) &&
                       absl::SimpleAtoi(fields[6], &row.totals.sum);
  return numbers ? std::optional(row) : std::nullopt;
}

}  // namespace hornbeam::soak
