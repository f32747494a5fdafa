// Beam's window functions: the windows of a timestamp, each candidate tried in turn.
#ifndef HORNBEAM_TESTS_ORACLE_REFERENCE_WINDOWS_H_
#define HORNBEAM_TESTS_ORACLE_REFERENCE_WINDOWS_H_

#include <vector>

#include "model/time.h"
#include "model/window.h"

namespace hornbeam::oracle {

// In the order of their starts.
std::vector<model::Window> AssignWindows(const model::WindowFn& fn, model::EventTime timestamp);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_REFERENCE_WINDOWS_H_
