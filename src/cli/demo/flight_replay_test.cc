#include "cli/demo/flight_replay.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace hornbeam::cli {
namespace {

Flight Example(int64_t number) {
  Flight flight;
  flight.event_id = "UA" + std::to_string(number);
  flight.scheduled = model::EventTime::FromSeconds(1'357'000'000 + number * 60);
  flight.carrier = "UA";
  flight.flight = number;
  flight.origin = "EWR";
  flight.dest = "IAH";
  if (number % 3 != 0) flight.dep_delay_min = number - 2;
  flight.distance_miles = 1400;
  return flight;
}

TEST(FlightReplayTest, SendsEveryFlightOnceSomeTwiceAndSomeBroken) {
  std::vector<Flight> flights;
  for (int64_t i = 0; i < 5000; ++i) flights.push_back(Example(i));
  const FlightReplay replay(flights);
  EXPECT_EQ(replay.distinct(), 5000);
  EXPECT_EQ(replay.duplicates(), 500);
  EXPECT_EQ(replay.malformed(), 50);
  ASSERT_EQ(replay.size(), 5550);
  FlightParser parser;
  std::set<std::string> seen;
  int64_t again = 0;
  int64_t broken = 0;
  for (size_t i = 0; i < replay.size(); ++i) {
    const ReplayMessage message = replay.Message(i);
    if (!seen.insert(message.event_id).second) ++again;
    try {
      EXPECT_EQ(parser.Parse(message.data).event_id, message.event_id);
    } catch (const std::runtime_error&) {
      ++broken;
    }
  }
  EXPECT_EQ(again, 500);
  EXPECT_EQ(broken, 50);
}

TEST(FlightReplayTest, WorksOnFewFlightsAndNone) {
  EXPECT_EQ(FlightReplay({}).size(), 0u);
  const FlightReplay replay({Example(1), Example(2)});
  EXPECT_EQ(replay.size(), 4u);
  EXPECT_EQ(replay.duplicates(), 1);
  EXPECT_EQ(replay.malformed(), 1);
}

}  // namespace
}  // namespace hornbeam::cli
