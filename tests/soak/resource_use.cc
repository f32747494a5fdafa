#include "resource_use.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hornbeam::soak {
namespace {

double Megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

// The samples [begin, end) of the process that lived longest.
std::pair<size_t, size_t> LongestLife(const std::vector<ResourceSample>& samples) {
  std::pair<size_t, size_t> longest{0, 0};
  for (size_t begin = 0; begin < samples.size();) {
    size_t end = begin + 1;
    while (end < samples.size() && samples[end].process_age_s > samples[end - 1].process_age_s) ++end;
    if (longest.second == 0 || samples[end - 1].process_age_s > samples[longest.second - 1].process_age_s) longest = {begin, end};
    begin = end;
  }
  return longest;
}

}  // namespace

StatusOr<int64_t> RssOf(int pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  int64_t size_pages = 0, resident_pages = 0;
  if (!(statm >> size_pages >> resident_pages)) return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  return resident_pages * sysconf(_SC_PAGESIZE);
}

int64_t BytesIn(const std::string& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; at != end && !error; at.increment(error)) {
    std::error_code gone;
    const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

ResourceVerdict JudgeResources(const std::vector<ResourceSample>& samples, const ResourceBounds& bounds) {
  ResourceVerdict verdict;
  for (const ResourceSample& sample : samples) {
    verdict.most_rss_bytes = std::max(verdict.most_rss_bytes, sample.rss_bytes);
    verdict.most_state_bytes = std::max(verdict.most_state_bytes, sample.state_bytes);
  }
  if (verdict.most_state_bytes > bounds.state_bytes) {
    verdict.problems.push_back(absl::StrFormat("the state directory had %.1f MB, and %.1f MB is the bound",
                                               Megabytes(verdict.most_state_bytes), Megabytes(bounds.state_bytes)));
  }
  const auto [begin, end] = LongestLife(samples);
  if (begin == end) return verdict;
  verdict.longest_life_s = samples[end - 1].process_age_s;
  const double middle_s = (bounds.warm_up_s + verdict.longest_life_s) / 2;
  for (size_t i = begin; i < end; ++i) {
    if (samples[i].process_age_s < bounds.warm_up_s) continue;
    int64_t& most = samples[i].process_age_s < middle_s ? verdict.early_rss_bytes : verdict.late_rss_bytes;
    most = std::max(most, samples[i].rss_bytes);
  }
  if (!bounds.judge_growth) return verdict;
  if (verdict.early_rss_bytes == 0 || verdict.late_rss_bytes == 0) {
    verdict.problems.push_back(absl::StrFormat("no process of the job lived long enough to see whether its memory grows: %.0f s",
                                               verdict.longest_life_s));
    return verdict;
  }
  const double bound = static_cast<double>(verdict.early_rss_bytes) * bounds.growth + static_cast<double>(bounds.growth_bytes);
  if (static_cast<double>(verdict.late_rss_bytes) > bound) {
    verdict.problems.push_back(absl::StrFormat(
        "memory grows: in the longest life of a process, %.0f s, at most %.1f MB in its first half and %.1f MB in its second",
        verdict.longest_life_s, Megabytes(verdict.early_rss_bytes), Megabytes(verdict.late_rss_bytes)));
  }
  return verdict;
}

}  // namespace hornbeam::soak
