#include "engine/progress/input_watermark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace hornbeam::engine {
namespace {

using model::EventTime;

EventTime At(int64_t s) { return EventTime::FromSeconds(s); }

TEST(InputWatermarkTest, WaitsForTheSlowestChannel) {
  InputWatermark watermark(2);
  EXPECT_FALSE(watermark.Advance(0, At(10)));
  EXPECT_EQ(watermark.Get(), EventTime::Min());
  EXPECT_TRUE(watermark.Advance(1, At(5)));
  EXPECT_EQ(watermark.Get(), At(5));
  EXPECT_TRUE(watermark.Advance(1, At(20)));
  EXPECT_EQ(watermark.Get(), At(10));
}

TEST(InputWatermarkTest, NeverGoesBack) {
  InputWatermark watermark(1);
  EXPECT_TRUE(watermark.Advance(0, At(10)));
  EXPECT_FALSE(watermark.Advance(0, At(9)));
  EXPECT_FALSE(watermark.Advance(0, At(10)));
  EXPECT_EQ(watermark.Get(), At(10));
}

TEST(InputWatermarkTest, AChannelThatIsOverHoldsNobodyBack) {
  InputWatermark watermark(2);
  watermark.Advance(0, EventTime::Max());
  EXPECT_TRUE(watermark.Advance(1, At(3)));
  EXPECT_EQ(watermark.Get(), At(3));
  EXPECT_TRUE(watermark.Advance(1, EventTime::Max()));
  EXPECT_EQ(watermark.Get(), EventTime::Max());
}

TEST(InputWatermarkTest, WithoutChannelsTimeIsOver) {
  EXPECT_EQ(InputWatermark(0).Get(), EventTime::Max());
}

TEST(InputWatermarkTest, SaysThatItMovedExactlyWhenItDid) {
  Rng rng(3);
  InputWatermark watermark(5);
  std::vector<EventTime> channels(5, EventTime::Min());
  for (int step = 0; step < 5'000; ++step) {
    const size_t channel = rng.Below(5);
    const EventTime t = At(static_cast<int64_t>(rng.Below(20)) + step / 10);
    const EventTime before = *std::min_element(channels.begin(), channels.end());
    channels[channel] = std::max(channels[channel], t);
    const EventTime after = *std::min_element(channels.begin(), channels.end());
    ASSERT_EQ(watermark.Advance(channel, t), after > before);
    ASSERT_EQ(watermark.Get(), after);
  }
}

}  // namespace
}  // namespace hornbeam::engine
