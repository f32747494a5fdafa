// When a window's content is put out: Beam's triggers as a plain tree (beam_runner_api.proto,
// Trigger). The engine compiles it into a state machine (engine/windowing/trigger_machine.h).
#ifndef HORNBEAM_MODEL_TRIGGER_H_
#define HORNBEAM_MODEL_TRIGGER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/time.h"

namespace hornbeam::model {

struct Trigger {
  enum class Kind {
    kDefault,         // AfterWatermark, then every late element: Repeatedly(AfterWatermark)
    kAfterWatermark,  // the end of the window; children: the early trigger if has_early, then the
                      // late if has_late
    kAfterProcessingTime,  // delay_us after the pane's first element
    kAfterCount,           // at least `count` elements in the pane
    kRepeatedly,           // child 0 for ever
    kAfterAll,
    kAfterAny,
    kAfterEach,  // children in turn
    kOrFinally,  // child 0 until child 1 fires
    kAlways,
    kNever,
  };

  static constexpr size_t kMaxNodes = 64;

  Kind kind = Kind::kDefault;
  std::vector<Trigger> children{};
  bool has_early = false;  // kAfterWatermark: the first of children is the early trigger
  bool has_late = false;   // kAfterWatermark: the last of children is the late trigger
  int64_t count = 0;       // kAfterCount: > 0
  Duration delay{};        // kAfterProcessingTime: >= 0

  static Trigger Default() { return {}; }
  static Trigger AfterWatermark() { return {.kind = Kind::kAfterWatermark}; }
  static Trigger AfterCount(int64_t n) { return {.kind = Kind::kAfterCount, .count = n}; }
  static Trigger AfterProcessingTime(Duration d) {
    return {.kind = Kind::kAfterProcessingTime, .delay = d};
  }
  static Trigger Repeatedly(Trigger t) {
    return {.kind = Kind::kRepeatedly, .children = {std::move(t)}};
  }
  static Trigger AfterAny(std::vector<Trigger> t) {
    return {.kind = Kind::kAfterAny, .children = std::move(t)};
  }
  static Trigger AfterAll(std::vector<Trigger> t) {
    return {.kind = Kind::kAfterAll, .children = std::move(t)};
  }
  static Trigger AfterEach(std::vector<Trigger> t) {
    return {.kind = Kind::kAfterEach, .children = std::move(t)};
  }
  static Trigger Always() { return {.kind = Kind::kAlways}; }
  static Trigger Never() { return {.kind = Kind::kNever}; }
  Trigger OrFinally(Trigger until) const {
    return {.kind = Kind::kOrFinally, .children = {*this, std::move(until)}};
  }
  // For AfterWatermark() only (Validate refuses it elsewhere). Both are repeated by definition: the
  // early one until the watermark passes the end of the window, the late one from then on.
  Trigger WithEarly(Trigger early) const;
  Trigger WithLate(Trigger late) const;

  friend bool operator==(const Trigger&, const Trigger&) = default;

  // The trigger of what comes out of a grouping that used this one (Beam's getContinuationTrigger).
  // There an element is a whole pane that has waited already, so counts become 1 and delays 0, and
  // a sequence becomes whichever part is ready.
  Trigger Continuation() const;
  // Whether it may finish while there is more to come, so that what comes then is lost (Beam's unsafe trigger). At the end of
  // a window that allows no lateness nothing more comes.
  bool MayLoseData(Duration allowed_lateness) const;
  // INVALID_ARGUMENT with the offending node named: a count below 1, a composite without children,
  // more than kMaxNodes nodes, ...
  Status Validate() const;
};

// "Repeatedly(AfterAny(AfterCount(1000), AfterProcessingTime(120s)))".
std::string ToString(const Trigger& trigger);

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_TRIGGER_H_
