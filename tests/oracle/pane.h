// What a step put out, as both sides report it.
#ifndef HORNBEAM_TESTS_ORACLE_PANE_H_
#define HORNBEAM_TESTS_ORACLE_PANE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/pane.h"
#include "model/time.h"
#include "model/window.h"

namespace hornbeam::oracle {

// One element of an observed step. `values` is a multiset, sorted: those of a GroupByKey, and one
// number of everything else.
struct Pane {
  std::string key;
  std::vector<int64_t> values;
  model::Window window;
  model::EventTime timestamp;
  model::PaneInfo pane;
};

using Outputs = std::map<int, std::vector<Pane>>;  // by step

// "k1 {3, 4} [.., ..) at .., early 0/-1 first".
std::string ToString(const Pane& pane);

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_PANE_H_
