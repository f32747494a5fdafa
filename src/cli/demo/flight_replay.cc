#include "cli/demo/flight_replay.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace hornbeam::cli {
namespace {

constexpr size_t kDuplicates = 500;
constexpr size_t kMalformed = 50;
// The copies of a message come so many flights after it, in turn: some in the same batch, some much
// later.
constexpr size_t kCopyDistances[] = {1, 40, 2500, 9000};

// The ways in which the broken messages are broken.
std::string Break(const std::string& json, size_t way) {
  switch (way % 3) {
    case 0: return json.substr(0, json.size() / 2);
    case 1: return absl::StrReplaceAll(json, {{"\"scheduled\":", "\"planned\":"}});
    default:
      return absl::StrReplaceAll(json, {{"\"flight\":", "\"flight\":\"no number\",\"was\":"}});
  }
}

}  // namespace

FlightReplay::FlightReplay(std::vector<Flight> flights) : flights_(std::move(flights)) {
  const size_t n = flights_.size();
  const size_t duplicates = std::min(kDuplicates, n / 2);
  const size_t malformed = std::min(kMalformed, n / 2);
  std::multimap<size_t, uint32_t> copies;  // by the flight after which the copy comes
  for (size_t i = 0; i < duplicates; ++i) {
    const size_t original = i * n / duplicates;
    const size_t after = std::min(n - 1, original + kCopyDistances[i % std::size(kCopyDistances)]);
    copies.emplace(after, static_cast<uint32_t>(original));
  }
  sequence_.reserve(n + duplicates + malformed);
  size_t next_broken = 0;
  for (uint32_t i = 0; i < n; ++i) {
    sequence_.push_back({i, false});
    for (auto [at, end] = copies.equal_range(i); at != end; ++at) {
      sequence_.push_back({at->second, false});
      ++duplicates_;
    }
    if (next_broken < malformed && i == next_broken * n / malformed) {
      sequence_.push_back({i, true});
      ++malformed_;
      ++next_broken;
    }
  }
}

ReplayMessage FlightReplay::Message(size_t index) const {
  const Entry entry = sequence_[index];
  const Flight& flight = flights_[entry.flight];
  ReplayMessage message{ToJson(flight), flight.event_id, flight.scheduled};
  if (entry.broken) {
    message.data = Break(message.data, entry.flight);
    message.event_id = absl::StrCat("broken-", flight.event_id);
  }
  return message;
}

}  // namespace hornbeam::cli
