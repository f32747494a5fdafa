// What a DoFn sees when one of its timers fires, and when a window expires.
#ifndef HORNBEAM_ENGINE_TIMERS_TIMER_CONTEXT_H_
#define HORNBEAM_ENGINE_TIMERS_TIMER_CONTEXT_H_

#include <string>
#include <string_view>

#include "engine/operators/bundle_finalizer.h"
#include "engine/timers/timer_member.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

// What OnWindowExpiration sees: the last that happens to a key in a window, before its state goes.
class ExpirationContext {
 public:
  // What outputs get: the last instant of the window.
  model::EventTime timestamp() const { return timestamp_; }
  const model::Window& window() const { return window_; }
  model::ProcessingTime processing_time() const { return now_; }
  const std::string& transform() const { return *transform_; }
  BundleFinalizer& bundle_finalizer() const { return *finalizer_; }

  ExpirationContext(model::EventTime timestamp, const model::Window& window, model::ProcessingTime now,
                    const std::string* transform, BundleFinalizer* finalizer)
      : timestamp_(timestamp), window_(window), now_(now), transform_(transform), finalizer_(finalizer) {}

 private:
  const model::EventTime timestamp_;
  const model::Window window_;
  const model::ProcessingTime now_;
  const std::string* const transform_;
  BundleFinalizer* const finalizer_;
};

// What OnTimer sees. timestamp() is the timer's output timestamp.
class TimerContext : public ExpirationContext {
 public:
  // Whether it is this timer, or one of this family, that fires.
  bool Is(const TimerMember& timer) const { return &timer == member_; }
  // Of a family's timer; empty of another.
  std::string_view tag() const { return tag_; }
  // What the timer was set to: the one for event timers, the other for processing timers.
  model::EventTime fire_time() const { return {time_us_}; }
  model::ProcessingTime fire_processing_time() const { return {time_us_}; }

  TimerContext(const ExpirationContext& context, const TimerMember* member, std::string tag, int64_t time_us)
      : ExpirationContext(context), member_(member), tag_(std::move(tag)), time_us_(time_us) {}

 private:
  const TimerMember* const member_;
  const std::string tag_;
  const int64_t time_us_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_TIMERS_TIMER_CONTEXT_H_
