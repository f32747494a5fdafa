// How Beam writes times, windows and panes (InstantCoder, IntervalWindow's coder, PaneInfo's coder).
#ifndef HORNBEAM_MODEL_BEAM_TIMES_H_
#define HORNBEAM_MODEL_BEAM_TIMES_H_

#include <string>

#include "base/bytes.h"
#include "model/pane.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::model::beam {

// Milliseconds, big-endian, the sign bit flipped so that bytes sort as times do.
void PutInstant(EventTime t, std::string* out);
EventTime ReadInstant(ByteReader& in);

// End, then length in milliseconds (varint).
void PutInterval(const Window& window, std::string* out);
Window ReadInterval(ByteReader& in);

// One byte (bits 0 first, 1 last, 2-3 timing, 4-7 how many indices follow), then the indices that do not follow from it (varints).
// Of elements that no trigger has fired the indices are not written.
void PutPaneInfo(const PaneInfo& pane, std::string* out);
// False for a form of a pane that is not known.
bool ReadPaneInfo(ByteReader& in, PaneInfo* pane);

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_TIMES_H_
