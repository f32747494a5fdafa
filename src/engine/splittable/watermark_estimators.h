// How a splittable DoFn says what it will not put out any more (Beam's WatermarkEstimators).
//
// What an estimator says at the end of a call holds the output watermark until the next call for the rest of the same restriction. Its
// state is that time, and is kept with the restriction. It never goes back.
//
// An estimator has
//   explicit Estimator(model::EventTime state);
//   model::EventTime CurrentWatermark(model::ProcessingTime now) const;
//   void ObserveTimestamp(model::EventTime t);      // if it wants to see the timestamp of each output
#ifndef HORNBEAM_ENGINE_SPLITTABLE_WATERMARK_ESTIMATORS_H_
#define HORNBEAM_ENGINE_SPLITTABLE_WATERMARK_ESTIMATORS_H_

#include <algorithm>

#include "model/time.h"

namespace hornbeam::engine {

// The DoFn sets it.
class ManualWatermarkEstimator {
 public:
  explicit ManualWatermarkEstimator(model::EventTime state) : watermark_(state) {}
  // An earlier one than before changes nothing.
  void SetWatermark(model::EventTime t) { watermark_ = std::max(watermark_, model::EventTime::FromMicros(t.us)); }
  model::EventTime CurrentWatermark(model::ProcessingTime) const { return watermark_; }

 private:
  model::EventTime watermark_;
};

// The timestamps of what is put out do not go back: the greatest so far.
class MonotonicallyIncreasingWatermarkEstimator {
 public:
  explicit MonotonicallyIncreasingWatermarkEstimator(model::EventTime state) : watermark_(state) {}
  void ObserveTimestamp(model::EventTime t) { watermark_ = std::max(watermark_, t); }
  model::EventTime CurrentWatermark(model::ProcessingTime) const { return watermark_; }

 private:
  model::EventTime watermark_;
};

// What is put out happened when it is put out: the clock's time at the end of the call.
class WallTimeWatermarkEstimator {
 public:
  explicit WallTimeWatermarkEstimator(model::EventTime state) : state_(state) {}
  model::EventTime CurrentWatermark(model::ProcessingTime now) const {
    return std::max(state_, model::EventTime::FromMicros(now.us));
  }

 private:
  model::EventTime state_;
};

// Of a DoFn that names none: its element's timestamp holds the watermark until the restriction is done.
class NoWatermarkEstimator {
 public:
  explicit NoWatermarkEstimator(model::EventTime state) : state_(state) {}
  model::EventTime CurrentWatermark(model::ProcessingTime) const { return state_; }

 private:
  model::EventTime state_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_WATERMARK_ESTIMATORS_H_
