// The words of the Beam model, under one roof.
#ifndef HORNBEAM_TYPES_H_
#define HORNBEAM_TYPES_H_

#include "engine/job/job_options.h"
#include "engine/operators/failed_element.h"
#include "model/coder.h"
#include "model/container_coders.h"
#include "model/kv.h"
#include "model/pane.h"
#include "model/slice.h"
#include "model/time.h"
#include "model/trigger.h"
#include "model/window.h"
#include "model/windowing_strategy.h"

namespace hornbeam {

using model::AccumulationMode;
using model::Coder;
using model::Duration;
using model::EventTime;
using model::Hours;
using model::KV;
using model::Micros;
using model::Millis;
using model::Minutes;
using model::PaneInfo;
using model::PaneTiming;
using model::ProcessingTime;
using model::Seconds;
using model::Slice;
using model::TimestampCombiner;
using model::Trigger;
using model::Window;
using model::WindowFn;
using model::WindowingStrategy;

using engine::FailedElement;
using engine::FailurePolicy;
using engine::ProcessingMode;
using PipelineOptions = engine::JobOptions;

// An element with the time at which it happened.
template <typename T>
struct TimestampedValue {
  T value;
  EventTime timestamp;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TYPES_H_
