// Impulse, PeriodicSequence and PeriodicImpulse: elements that nobody sends.
//
//   pipeline | "Tick" >> PeriodicImpulse(Minutes(5)) | "Look up" >> Map(lookup) | ...
//
// A tick is due at its own event time and not put out before; what is overdue is put out at once. While nothing is due, the watermark
// stands at the next tick. After a restart a sequence goes on where it was, and what has become due meanwhile is made up for. When the
// job drains it ends. In the time between two ticks it costs nothing.
#ifndef HORNBEAM_TRANSFORMS_IMPULSE_H_
#define HORNBEAM_TRANSFORMS_IMPULSE_H_

#include <optional>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "hornbeam/splittable.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/window.h"

namespace hornbeam {

// One element, empty, at the least timestamp: where a pipeline begins that reads by itself.
class Impulse : public PTransform {
 public:
  PCollection<std::string> Expand(Pipeline& pipeline, const std::string& name) const {
    return Create<std::string>(std::vector<std::string>{std::string()}).Expand(pipeline, name);
  }
};

// `first`, first + interval, first + 2 * interval, ... as far as they are before `end`. REQUIRES: interval > 0.
struct SequenceDefinition {
  EventTime first;
  EventTime end = EventTime::Max();
  Duration interval{};
};

}  // namespace hornbeam

namespace hornbeam::model {

template <>
struct Coder<SequenceDefinition> {
  static void Encode(const SequenceDefinition& v, std::string* out) {
    Coder<EventTime>::Encode(v.first, out);
    Coder<EventTime>::Encode(v.end, out);
    Coder<int64_t>::Encode(v.interval.us, out);
  }
  static bool Decode(ByteReader& in, SequenceDefinition* v) {
    return Coder<EventTime>::Decode(in, &v->first) && Coder<EventTime>::Decode(in, &v->end) && Coder<int64_t>::Decode(in, &v->interval.us);
  }
};

}  // namespace hornbeam::model

namespace hornbeam {

namespace internal {

// The restriction counts the ticks.
struct GenerateSequence : SplittableDoFn<OffsetRangeTracker, ManualWatermarkEstimator> {
  static constexpr bool kUnbounded = true;

  OffsetRange GetInitialRestriction(const SequenceDefinition& sequence) const {
    if (sequence.interval <= Duration{}) throw std::invalid_argument("a periodic sequence needs an interval above 0");
    if (sequence.end <= sequence.first) return {0, 0};
    return {0, ((sequence.end - sequence.first).us - 1) / sequence.interval.us + 1};
  }
  EventTime GetInitialWatermarkEstimatorState(const SequenceDefinition& sequence, const OffsetRange&) const { return sequence.first; }

  ProcessContinuation ProcessElement(const SequenceDefinition& sequence, const ElementContext& context, RestrictionTracker& tracker,
                                     ManualWatermarkEstimator& watermark, OutputReceiver<EventTime>& out) const {
    for (int64_t tick = tracker.restriction().from;; ++tick) {
      const EventTime at = sequence.first + Micros(model::internal::SaturatedMultiply(tick, sequence.interval.us));
      const EventTime now = EventTime::FromMicros(context.processing_time().us);
      watermark.SetWatermark(at);
      if (at > now && at < sequence.end) return ProcessContinuation::Resume(at - now);
      if (!tracker.TryClaim(tick)) return ProcessContinuation::Stop();
      out.OutputWithTimestamp(at, at);
    }
  }
};

}  // namespace internal

// The ticks of each definition, as their own timestamps, each when its time has come.
class PeriodicSequence : public PTransform {
 public:
  PCollection<EventTime> Expand(const PCollection<SequenceDefinition>& input, const std::string& name) const {
    return ParDo<EventTime>(internal::GenerateSequence()).Expand(input, name);
  }
};

// One sequence, from when the job first started if no other start is given.
class PeriodicImpulse : public PTransform {
 public:
  explicit PeriodicImpulse(Duration interval) : interval_(interval) {}

  PeriodicImpulse StartingAt(EventTime first) const {
    PeriodicImpulse changed = *this;
    changed.first_ = first;
    return changed;
  }
  // No tick at or after it.
  PeriodicImpulse StoppingAt(EventTime end) const {
    PeriodicImpulse changed = *this;
    changed.end_ = end;
    return changed;
  }
  // Each tick in a window of its own, as long as the interval.
  PeriodicImpulse ApplyWindowing() const {
    PeriodicImpulse changed = *this;
    changed.windows_ = true;
    return changed;
  }

  PCollection<EventTime> Expand(Pipeline& pipeline, const std::string& name) const {
    const auto define = [*this](const std::string&, const ElementContext& context) {
      return SequenceDefinition{first_.value_or(EventTime::FromMicros(context.processing_time().us)), end_, interval_};
    };
    const PCollection<EventTime> ticks = pipeline | NamedTransform{absl::StrCat(name, "/Impulse"), Impulse()} |
                                         NamedTransform{absl::StrCat(name, "/Define"), Map(define)} |
                                         NamedTransform{absl::StrCat(name, "/Generate"), PeriodicSequence()};
    if (!windows_) return ticks;
    return ticks | NamedTransform{absl::StrCat(name, "/Window"), WindowInto(FixedWindows(interval_))};
  }

 private:
  Duration interval_;
  std::optional<EventTime> first_;
  EventTime end_ = EventTime::Max();
  bool windows_ = false;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_IMPULSE_H_
