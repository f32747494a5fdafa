#include <gtest/gtest.h>

#include "engine/splittable/watermark_estimators.h"

namespace hornbeam::engine {
namespace {

model::EventTime At(int64_t s) { return model::EventTime::FromSeconds(s); }
model::ProcessingTime Now(int64_t s) { return {s * 1'000'000}; }

TEST(WatermarkEstimators, AManualOneDoesNotGoBack) {
  ManualWatermarkEstimator estimator(At(5));
  estimator.SetWatermark(At(3));
  EXPECT_EQ(estimator.CurrentWatermark(Now(100)), At(5));
  estimator.SetWatermark(At(7));
  EXPECT_EQ(estimator.CurrentWatermark(Now(100)), At(7));
}

TEST(WatermarkEstimators, AMonotonousOneIsAtTheGreatestTimestamp) {
  MonotonicallyIncreasingWatermarkEstimator estimator(At(5));
  estimator.ObserveTimestamp(At(9));
  estimator.ObserveTimestamp(At(8));
  EXPECT_EQ(estimator.CurrentWatermark(Now(100)), At(9));
}

TEST(WatermarkEstimators, WallTimeIsTheClocksAndDoesNotGoBack) {
  EXPECT_EQ(WallTimeWatermarkEstimator(At(5)).CurrentWatermark(Now(9)), At(9));
  EXPECT_EQ(WallTimeWatermarkEstimator(At(5)).CurrentWatermark(Now(3)), At(5));
}

}  // namespace
}  // namespace hornbeam::engine
