// Coders of windows, of elements with their window, time and pane, and of timers.
#ifndef HORNBEAM_MODEL_BEAM_WINDOW_CODERS_H_
#define HORNBEAM_MODEL_BEAM_WINDOW_CODERS_H_

#include <memory>
#include <string_view>

#include "model/beam/coder.h"
#include "model/beam/composite_coders.h"

namespace hornbeam::model::beam {

CoderPtr MakeGlobalWindowCoder();
CoderPtr MakeIntervalWindowCoder();
// The window's last millisecond, then the window, for runners that cannot read it.
CoderPtr MakeCustomWindowCoder(CoderPtr window);

CoderPtr MakeWindowedValueCoder(CoderPtr value, CoderPtr window);
// Values that all have the time, windows and pane that `payload` says, in windowed_value's form: only the value is written.
// INVALID_ARGUMENT for a payload that is not one.
StatusOr<CoderPtr> MakeParamWindowedValueCoder(CoderPtr value, CoderPtr window, std::string_view payload);

CoderPtr MakeTimerCoder(CoderPtr key, CoderPtr window);

}  // namespace hornbeam::model::beam

#endif  // HORNBEAM_MODEL_BEAM_WINDOW_CODERS_H_
