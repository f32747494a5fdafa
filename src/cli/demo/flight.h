// One departure from New York, as the demo's messages and rows have it.
#ifndef HORNBEAM_CLI_DEMO_FLIGHT_H_
#define HORNBEAM_CLI_DEMO_FLIGHT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/coder.h"
#include "model/time.h"

namespace hornbeam::cli {

struct Flight {
  std::string event_id;        // "UA1545-2013-01-01-0515": carrier, flight, scheduled departure
  model::EventTime scheduled;  // when it should have left: the event time
  std::string carrier;
  int64_t flight = 0;
  std::string tail;  // empty: not known
  std::string origin;
  std::string dest;
  std::optional<int64_t> dep_delay_min;  // none: cancelled
  int64_t distance_miles = 0;

  bool cancelled() const { return !dep_delay_min.has_value(); }
  // When it became known: at the actual departure; a cancelled one at the scheduled.
  model::EventTime happened() const {
    return scheduled + model::Minutes(dep_delay_min.value_or(0));
  }

  friend bool operator==(const Flight&, const Flight&) = default;
};

HORNBEAM_CODER(Flight, event_id, scheduled, carrier, flight, tail, origin, dest, dep_delay_min,
               distance_miles)

// One JSON object on one line.
std::string ToJson(const Flight& flight);

// Reads what ToJson writes. Copies share nothing; not thread-safe.
class FlightParser {
 public:
  FlightParser();
  FlightParser(const FlightParser&);
  FlightParser& operator=(const FlightParser&) = delete;
  ~FlightParser();

  // Throws std::runtime_error that says what is wrong: no JSON, a field missing, of another type or
  // out of range.
  Flight Parse(const std::string& json);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_FLIGHT_H_
