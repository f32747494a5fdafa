// The demo's messages in the order in which they are published: every flight, some of them twice,
// and some broken ones in between. The same at every run.
#ifndef HORNBEAM_CLI_DEMO_FLIGHT_REPLAY_H_
#define HORNBEAM_CLI_DEMO_FLIGHT_REPLAY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/demo/flight.h"

namespace hornbeam::cli {

// The attributes that the subscription's reader goes by.
inline constexpr char kEventIdAttribute[] = "event_id";
inline constexpr char kEventTimeAttribute[] = "event_time";

struct ReplayMessage {
  std::string data;
  std::string event_id;
  model::EventTime event_time;
};

class FlightReplay {
 public:
  // `flights` in the order in which they happened. Of few flights no more than half are sent twice
  // or have a broken neighbour.
  explicit FlightReplay(std::vector<Flight> flights);

  size_t size() const { return sequence_.size(); }
  // REQUIRES: index < size().
  ReplayMessage Message(size_t index) const;

  int64_t distinct() const { return static_cast<int64_t>(flights_.size()); }
  int64_t duplicates() const { return duplicates_; }
  int64_t malformed() const { return malformed_; }

 private:
  struct Entry {
    uint32_t flight;
    bool broken;
  };

  const std::vector<Flight> flights_;
  std::vector<Entry> sequence_;
  int64_t duplicates_ = 0;
  int64_t malformed_ = 0;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_FLIGHT_REPLAY_H_
