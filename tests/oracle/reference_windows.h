// Beam's window functions: the windows of a timestamp, each candidate tried in turn.
#ifndef HORNBEAM_TESTS_ORACLE_REFERENCE_WINDOWS_H_
#define HORNBEAM_TESTS_ORACLE_REFERENCE_WINDOWS_H_

#include <vector>

#include "model/time.h"
#include "model/window.h"

namespace hornbeam::oracle {

// In the order of their starts.
std::vector<model::Window> AssignWindows(const model::WindowFn& fn, model::EventTime timestamp);

// In which window of a side input with `fn` an element of a main input's `window` looks: the latest
// of its last instant.
model::Window SideWindow(const model::WindowFn& fn, const model::Window& window);

// Which windows of a key, in ascending order, become which one. REQUIRES: fn.merges().
std::vector<model::CustomWindowFn::MergeResult> MergeWindows(
    const model::WindowFn& fn, const std::vector<model::Window>& windows);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_REFERENCE_WINDOWS_H_
