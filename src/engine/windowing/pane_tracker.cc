#include "engine/windowing/pane_tracker.h"

namespace hornbeam::engine {

using model::PaneInfo;
using model::PaneTiming;

PaneInfo NextPane(PaneState* state, model::EventTime watermark, const model::Window& window,
                  bool is_last, bool late_for_output) {
  PaneInfo pane;
  pane.is_first = !state->has_fired();
  pane.is_last = is_last;
  pane.index = int64_t{state->early} + state->on_time_late;
  if (late_for_output || state->on_time_is_over()) {
    pane.timing = PaneTiming::kLate;
  } else if (window.IsPassedBy(watermark)) {
    pane.timing = PaneTiming::kOnTime;
  } else {
    pane.timing = PaneTiming::kEarly;
  }
  if (pane.timing == PaneTiming::kEarly) {
    pane.on_time_index = -1;
    ++state->early;
  } else {
    pane.on_time_index = state->on_time_late;
    ++state->on_time_late;
  }
  return pane;
}

void EncodePaneState(const PaneState& state, std::string* out) {
  PutVarint(out, state.early);
  PutVarint(out, state.on_time_late);
}

bool DecodePaneState(ByteReader* in, PaneState* state) {
  const uint64_t early = in->Varint();
  const uint64_t on_time_late = in->Varint();
  *state = {static_cast<uint32_t>(early), static_cast<uint32_t>(on_time_late)};
  return in->ok() && early <= UINT32_MAX && on_time_late <= UINT32_MAX;
}

}  // namespace hornbeam::engine
