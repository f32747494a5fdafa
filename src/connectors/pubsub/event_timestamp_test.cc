#include "connectors/pubsub/event_timestamp.h"

#include <gtest/gtest.h>

namespace hornbeam::connectors {
namespace {

int64_t Us(std::string_view text) {
  const auto parsed = ParseEventTimestamp(text);
  return parsed ? parsed->us : -1;
}

TEST(EventTimestampTest, ReadsMilliseconds) {
  EXPECT_EQ(Us("1514764800123"), 1514764800123000);
  EXPECT_EQ(Us("0"), 0);
  EXPECT_EQ(Us("-5"), -5000);
}

TEST(EventTimestampTest, ReadsRfc3339) {
  EXPECT_EQ(Us("2018-01-01T00:00:00Z"), 1514764800000000);
  EXPECT_EQ(Us("2018-01-01T00:00:00.123Z"), 1514764800123000);
  EXPECT_EQ(Us("2018-01-01t02:00:00.1234567+02:00"), 1514764800123456);
  EXPECT_EQ(Us("2017-12-31T19:30:00-04:30"), 1514764800000000);
  EXPECT_EQ(Us("1969-12-31T23:59:59.5Z"), -500000);
  EXPECT_EQ(Us("2016-12-31T23:59:60Z"), 1483228800000000);
}

TEST(EventTimestampTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "-", "yesterday", "2018-01-01", "2018-01-01T00:00:00", "2018-02-30T00:00:00Z",
        "2018-13-01T00:00:00Z", "2018-01-01T24:00:00Z", "2018-01-01T00:60:00Z",
        "2018-01-01T00:00:00.Z", "2018-01-01T00:00:00Zx", "2018-01-01T00:00:00+0200",
        "99999999999999999999", "9223372036854775807", "12.5", "1514764800123 "}) {
    EXPECT_FALSE(ParseEventTimestamp(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace hornbeam::connectors
