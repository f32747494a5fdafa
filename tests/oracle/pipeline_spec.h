// A small pipeline as a value, from which both sides are built: the engine's (engine_run.h) and the
// reference runner's (reference_runner.h).
//
// Every collection holds KV<string, int64>; what a grouping puts out goes on as one number per pane
// (Digest), so that any step can follow any other.
#ifndef HORNBEAM_TESTS_ORACLE_PIPELINE_SPEC_H_
#define HORNBEAM_TESTS_ORACLE_PIPELINE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/kv.h"
#include "model/time.h"
#include "model/windowing_strategy.h"

namespace hornbeam::oracle {

using Event = model::KV<std::string, int64_t>;

struct StampedEvent {
  Event event;
  model::EventTime timestamp;
  friend bool operator==(const StampedEvent&, const StampedEvent&) = default;
};

// One event of a TestStream: elements, or a step of the watermark, or of the clock.
struct StreamEvent {
  std::vector<StampedEvent> elements{};
  model::EventTime watermark = model::EventTime::Min();  // advance to, when it is later
  model::Duration processing_time{};                     // advance by
  friend bool operator==(const StreamEvent&, const StreamEvent&) = default;
};

struct Step {
  enum class Kind {
    kMap,          // value + n
    kFlatMap,      // the element value mod (n + 1) times
    kFilter,       // value mod (n + 1) is not 0
    kWithKeys,     // the key becomes "g" and value mod n
    kWindowInto,   // windowing
    kFlatten,      // of all inputs; most others have one
    kDeduplicate,  // the first of each key and window
    kBuffer,       // a DoFn with state: what has come, at the end of the window, by a timer
    kLookUp,       // a DoFn with a side input, the second of inputs: adds the key's value there
    kGroupByKey,
    kSum,
    kMax,
    kConcat,  // a CombineFn that keeps all values, sorted
  };
  static constexpr int kSource = -1;
  static constexpr int kSecondSource = -2;

  Kind kind = Kind::kMap;
  std::vector<int> inputs{kSource};  // earlier steps, or sources
  int64_t n = 1;                     // >= 1
  model::WindowingStrategy windowing{};

  bool is_grouping() const { return kind >= Kind::kGroupByKey; }
  friend bool operator==(const Step&, const Step&) = default;
};

struct PipelineSpec {
  std::vector<StreamEvent> schedule;  // the watermark goes to infinity after the last
  std::vector<Step> steps;            // inputs first
  // Of the second source, whose events come in any order with those of the first; it leaves the
  // clock alone.
  std::vector<StreamEvent> second_schedule{};

  friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

// The windowing of a step's output; of a source the default.
model::WindowingStrategy WindowingOf(const PipelineSpec& spec, int step);
bool HasConsumer(const PipelineSpec& spec, int step);
// No element is behind the watermark of its own stream.
bool IsInTime(const std::vector<StreamEvent>& schedule);
// Steps whose output both sides report: groupings, what has state, and what nobody reads.
bool IsObserved(const PipelineSpec& spec, int step);

// The user's code, the same on both sides: what kMap, kFlatMap, kFilter and kWithKeys make of one
// element.
std::vector<Event> ApplyElementwise(const Step& step, const Event& event);
// What a pane's values go on as.
int64_t Digest(const std::vector<int64_t>& values);

std::string ToString(const model::WindowingStrategy& windowing);
std::string ToString(const Step& step);
// The pipeline as a person reads it, an event or a step a line.
std::string ToString(const PipelineSpec& spec);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_PIPELINE_SPEC_H_
