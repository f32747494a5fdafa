#include "hornbeam/io/file_naming.h"

#include <gtest/gtest.h>

namespace hornbeam::io {
namespace {

FileNameContext Context(int64_t pane, PaneTiming timing, bool last) {
  FileNameContext file;
  file.window = {EventTime::FromSeconds(1'357'016'400),
                 EventTime::FromSeconds(1'357'016'700)};  // 2013-01-01T05:00:00Z, five minutes
  file.pane = {timing, pane == 0, last, pane, pane};
  file.shard = 3;
  file.shards = 12;
  return file;
}

TEST(FileNamingTest, BeamsDefault) {
  const FileNaming naming = DefaultFileNaming("out/orders-", ".txt");
  EXPECT_EQ(
      naming(Context(0, PaneTiming::kOnTime, true)),
      "out/"
      "orders-2013-01-01T05:00:00.000Z-2013-01-01T05:05:00.000Z-pane-0-last-00003-of-00012.txt");
  EXPECT_EQ(
      naming(Context(2, PaneTiming::kLate, false)),
      "out/"
      "orders-2013-01-01T05:00:00.000Z-2013-01-01T05:05:00.000Z-pane-2-late-00003-of-00012.txt");
  FileNameContext global = Context(0, PaneTiming::kOnTime, true);
  global.window = Window::Global();
  EXPECT_EQ(naming(global), "out/orders--00003-of-00012.txt");
  global.compression = Compression::kGzip;
  EXPECT_EQ(naming(global), "out/orders--00003-of-00012.txt.gz");
}

TEST(FileNamingTest, Templates) {
  FileNameContext file = Context(1, PaneTiming::kEarly, false);
  EXPECT_EQ(DefaultFileNaming("o", "", "-P-S-N")(file), "o-pane-1-3-12");
  EXPECT_EQ(DefaultFileNaming("o", "", "-SSS-of-NN")(file), "o-003-of-12");
  file.window = Window::Global();
  EXPECT_EQ(DefaultFileNaming("o", "", "-W-S")(file), "o-GlobalWindow-3");
  file.window = {EventTime::FromMicros(1), EventTime::FromMicros(1'500'000)};
  EXPECT_EQ(DefaultFileNaming("o", "", "W")(file),
            "o1970-01-01T00:00:00.000001Z-1970-01-01T00:00:01.500Z");
}

TEST(FileNamingTest, TimesOfDay) {
  EXPECT_EQ(TimeOfDayFileNaming("out/orders", ".txt")(Context(0, PaneTiming::kOnTime, false)),
            "out/orders-05:00-05:05-3.txt");
  EXPECT_EQ(TimeOfDayFileNaming("out/YYYY/MM/DD/o", "", true)(Context(1, PaneTiming::kLate, false)),
            "out/2013/01/01/o-05:00-05:05-pane-1-3");
}

TEST(FileNamingTest, DatePatterns) {
  EXPECT_EQ(FormatDatePattern("a/YYYY-MM-DD/HH:mm/Y", EventTime::FromSeconds(1'357'016'700)),
            "a/2013-01-01/05:05/Y");
}

}  // namespace
}  // namespace hornbeam::io
