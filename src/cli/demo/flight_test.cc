#include "cli/demo/flight.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

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

TEST(FlightParserTest, ReadsWhatToJsonWrites) {
  FlightParser parser;
  for (int64_t number = 0; number < 6; ++number) {
    EXPECT_EQ(parser.Parse(ToJson(Example(number))), Example(number));
  }
}

TEST(FlightParserTest, SaysWhatIsWrong) {
  FlightParser parser;
  const auto error = [&](const std::string& json) -> std::string {
    try {
      parser.Parse(json);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("{\"event_id\": \"x\"}"), "field 'scheduled' is missing");
  EXPECT_EQ(error("{\"event_id\": 1}"), "field 'event_id' must be a string");
  EXPECT_EQ(error("{\"event_id\": \"x\", \"scheduled\": \"soon\"}"),
            "field 'scheduled' must be a time as in RFC 3339");
  EXPECT_NE(error(""), "");
  EXPECT_NE(error("[]"), "");
  EXPECT_NE(error(ToJson(Example(1)) + "x"), "");
}

}  // namespace
}  // namespace hornbeam::cli
