// How the windows and panes of elements are written where they are kept (docs/formats/job_log.md).
#ifndef HORNBEAM_MODEL_ELEMENT_BYTES_H_
#define HORNBEAM_MODEL_ELEMENT_BYTES_H_

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "model/pane.h"
#include "model/window.h"

namespace hornbeam::model {

// Start and end, signed.
inline void PutWindow(std::string* out, const Window& window) {
  PutSigned(out, window.start.us);
  PutSigned(out, window.end.us);
}
inline Window ReadWindow(ByteReader& in) {
  Window window;
  window.start.us = in.Signed();
  window.end.us = in.Signed();
  return window;
}

// Flags (1 byte: timing in bits 0 and 1, 4 first, 8 last), index and on-time index, signed.
inline void PutPane(std::string* out, const PaneInfo& pane) {
  out->push_back(static_cast<char>(static_cast<int>(pane.timing) | (pane.is_first ? 4 : 0) | (pane.is_last ? 8 : 0)));
  PutSigned(out, pane.index);
  PutSigned(out, pane.on_time_index);
}
inline PaneInfo ReadPane(ByteReader& in) {
  PaneInfo pane;
  const uint8_t flags = in.Byte();
  pane.timing = static_cast<PaneTiming>(flags & 3);
  pane.is_first = (flags & 4) != 0;
  pane.is_last = (flags & 8) != 0;
  pane.index = in.Signed();
  pane.on_time_index = in.Signed();
  return pane;
}

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_ELEMENT_BYTES_H_
