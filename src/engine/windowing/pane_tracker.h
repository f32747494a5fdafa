// Which pane of a key and window comes next: its timing, its indices, and whether it is the first
// or the last.
//
// The rules are Beam's. Timing goes EARLY*, ON_TIME at most once, LATE*: a pane is EARLY while the
// watermark has not passed the end of the window; the first one after that is ON_TIME; all others
// are LATE. The on-time index (Beam: non-speculative index) is -1 for EARLY panes and counts the
// others from 0.
#ifndef HORNBEAM_ENGINE_WINDOWING_PANE_TRACKER_H_
#define HORNBEAM_ENGINE_WINDOWING_PANE_TRACKER_H_

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "model/pane.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

// The panes that a key and window have put out. Starts out as `PaneState{}`, worth storing only
// once a pane is out.
struct PaneState {
  uint32_t early = 0;         // EARLY panes
  uint32_t on_time_late = 0;  // the ON_TIME pane and the LATE ones

  bool has_fired() const { return early + on_time_late != 0; }
  // No ON_TIME pane can come any more.
  bool on_time_is_over() const { return on_time_late != 0; }
  friend bool operator==(const PaneState&, const PaneState&) = default;
};

// Describes the pane that is put out now, and counts it. `watermark` is the grouping's input
// watermark. `is_last` says that the window is closed with it: nothing may follow. Where output can
// already be late downstream - the output watermark has passed the window's last instant, so that
// the pane could not be on time for anyone - say so with `late_for_output`, and the pane is LATE.
model::PaneInfo NextPane(PaneState* state, model::EventTime watermark, const model::Window& window,
                         bool is_last, bool late_for_output = false);

void EncodePaneState(const PaneState& state, std::string* out);
// Consumes what EncodePaneState wrote; false where the bytes are not of it.
[[nodiscard]] bool DecodePaneState(ByteReader* in, PaneState* state);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_WINDOWING_PANE_TRACKER_H_
