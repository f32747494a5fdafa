// What the demo's pipeline adds up for one airport and one hour.
#ifndef HORNBEAM_CLI_DEMO_DEPARTURES_H_
#define HORNBEAM_CLI_DEMO_DEPARTURES_H_

#include <algorithm>
#include <cstdint>

#include "cli/demo/flight.h"
#include "model/coder.h"

namespace hornbeam::cli {

inline constexpr int64_t kDelayedFromMinutes = 15;  // as the airlines count it

struct Departures {
  int64_t flights = 0;
  int64_t cancelled = 0;
  int64_t delayed = 0;        // by kDelayedFromMinutes or more
  int64_t delay_sum_min = 0;  // early ones count as zero
  int64_t delay_max_min = 0;

  static Departures Of(const Flight& flight) {
    const int64_t delay = std::max<int64_t>(0, flight.dep_delay_min.value_or(0));
    return {.flights = 1,
            .cancelled = flight.cancelled() ? 1 : 0,
            .delayed = delay >= kDelayedFromMinutes ? 1 : 0,
            .delay_sum_min = delay,
            .delay_max_min = delay};
  }

  int64_t departed() const { return flights - cancelled; }
  double mean_delay_min() const {
    return departed() == 0 ? 0
                           : static_cast<double>(delay_sum_min) / static_cast<double>(departed());
  }
};

HORNBEAM_CODER(Departures, flights, cancelled, delayed, delay_sum_min, delay_max_min)

struct AddDepartures {
  using InputT = Departures;
  using AccumulatorT = Departures;
  using OutputT = Departures;
  Departures CreateAccumulator() const { return {}; }
  void AddInput(Departures& sum, const Departures& d) const {
    sum.flights += d.flights;
    sum.cancelled += d.cancelled;
    sum.delayed += d.delayed;
    sum.delay_sum_min += d.delay_sum_min;
    sum.delay_max_min = std::max(sum.delay_max_min, d.delay_max_min);
  }
  void MergeAccumulators(Departures& into, const Departures& from) const { AddInput(into, from); }
  Departures ExtractOutput(const Departures& sum) const { return sum; }
};

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_DEPARTURES_H_
