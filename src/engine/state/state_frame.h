// What the states and timers of a DoFn act on during one call of it: the cell of the key and window at hand.
#ifndef HORNBEAM_ENGINE_STATE_STATE_FRAME_H_
#define HORNBEAM_ENGINE_STATE_STATE_FRAME_H_

#include <cstddef>
#include <vector>

#include "engine/progress/holds.h"
#include "engine/state/cell.h"
#include "engine/timers/timer_queue.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

class StateMember;

// One per operator. The operator fills it in before a call; members keep a pointer to it.
struct StateFrame {
  std::byte* cell = nullptr;  // null between calls
  model::Window window;
  std::vector<StateMember*> touched;  // by the call; each once

  // For timers.
  model::EventTime timestamp;          // of the element; in a callback the timer's output timestamp
  model::EventTime event_now;          // what relative event timers count from: the element's timestamp, the timer's time
  model::ProcessingTime now{};
  model::EventTime expires_at;         // of the window
  EventTimerQueue* event_timers = nullptr;
  ProcessingTimerQueue* processing_timers = nullptr;
  HoldSet* holds = nullptr;

  const model::KeyHash& key_hash() const { return reinterpret_cast<const Cell*>(cell)->hash; }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_STATE_FRAME_H_
