#include "pane.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hornbeam::oracle {
namespace {

const char* Name(model::PaneTiming timing) {
  switch (timing) {
    case model::PaneTiming::kEarly: return "early";
    case model::PaneTiming::kOnTime: return "on time";
    case model::PaneTiming::kLate: return "late";
    case model::PaneTiming::kUnknown: return "no firing";
  }
  return "?";
}

}  // namespace

std::string ToString(const Pane& pane) {
  return absl::StrCat(pane.key, " {", absl::StrJoin(pane.values, ", "), "} ",
                      model::ToString(pane.window), " at ", model::ToString(pane.timestamp), ", ",
                      Name(pane.pane.timing), " ", pane.pane.index, "/", pane.pane.on_time_index,
                      pane.pane.is_first ? " first" : "", pane.pane.is_last ? " last" : "");
}

}  // namespace hornbeam::oracle
