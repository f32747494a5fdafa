#include "services/bigquery/core/civil_time.h"

#include <gtest/gtest.h>

namespace hornbeam::services::bigquery {
namespace {

std::string Datetime(int64_t micros) {
  std::string out;
  AppendDatetime(micros, &out);
  return out;
}

TEST(CivilTimeTest, Dates) {
  EXPECT_EQ(ParseDate("1970-01-01"), 0);
  EXPECT_EQ(ParseDate("1970-1-2"), 1);
  EXPECT_EQ(ParseDate("0001-01-01"), kMinDateDays);
  EXPECT_EQ(ParseDate("9999-12-31"), kMaxDateDays);
  EXPECT_EQ(ParseDate("2024-02-29"), 19782);
  for (const char* bad :
       {"", "2023-02-29", "2024-13-01", "24-01-01", "2024-01-01x", "10000-01-01", "2024-01"}) {
    EXPECT_EQ(ParseDate(bad), std::nullopt) << bad;
  }
}

TEST(CivilTimeTest, Timestamps) {
  EXPECT_EQ(ParseTimestamp("1970-01-01 00:00:01Z"), 1'000'000);
  EXPECT_EQ(ParseTimestamp("1970-01-01T00:00:01.25 UTC"), 1'250'000);
  EXPECT_EQ(ParseTimestamp("1970-01-01 02:00:00+02:00"), 0);
  EXPECT_EQ(ParseTimestamp("1970-01-01 00:00:00-05"), 5 * 3600 * kMicrosPerSecond);
  EXPECT_EQ(ParseTimestamp("1970-01-02"), kMicrosPerDay);
  EXPECT_EQ(ParseTimestamp("9999-12-31 23:59:59.999999Z"), kMaxTimestampMicros);
  for (const char* bad :
       {"now", "1970-01-01 24:00:00", "1970-01-01 00:00:00 Mars", "9999-12-31 23:59:59-01"}) {
    EXPECT_EQ(ParseTimestamp(bad), std::nullopt) << bad;
  }
}

TEST(CivilTimeTest, RoundTripsThroughText) {
  for (const int64_t micros : {int64_t{0}, int64_t{-1}, int64_t{1}, kMinTimestampMicros,
                               kMaxTimestampMicros, int64_t{1'709'210'096'000'123}}) {
    EXPECT_EQ(ParseDatetime(Datetime(micros)), micros) << Datetime(micros);
  }
  EXPECT_EQ(Datetime(-1), "1969-12-31T23:59:59.999999");
}

TEST(CivilTimeTest, PackedForms) {
  // 12:34:56.000789 as Google's CivilTimeEncoder packs it.
  const int64_t time = (int64_t{12} << 32) | (int64_t{34} << 26) | (int64_t{56} << 20) | 789;
  EXPECT_EQ(TimeFromPacked(time), ParseTime("12:34:56.000789"));
  const int64_t datetime = (int64_t{2024} << 46) | (int64_t{2} << 42) | (int64_t{29} << 37) | time;
  EXPECT_EQ(DatetimeFromPacked(datetime), ParseDatetime("2024-02-29 12:34:56.000789"));
  EXPECT_EQ(TimeFromPacked(int64_t{24} << 32), std::nullopt);
  EXPECT_EQ(DatetimeFromPacked(time), std::nullopt);
}

}  // namespace
}  // namespace hornbeam::services::bigquery
