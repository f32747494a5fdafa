#include "engine/operators/failed_call.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace hornbeam::engine {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Status FailedOnElement(const std::string& transform, const model::Window& window,
                       std::string_view error, std::string_view element) {
  return absl::AbortedError(absl::StrCat(
      "'", transform, "' failed on an element of window ", ToString(window), ": ", View(error),
      "; the element: ", absl::CHexEscape(View(element.substr(0, 500))),
      "; read the transform's failures() to have such elements as dead letters instead"));
}

model::Duration Backoff(int64_t attempts, int at_once) {
  const int64_t doublings = std::clamp<int64_t>(attempts / std::max(1, at_once) - 1, 0, 9);
  return std::min(model::Seconds(1 << doublings), model::Minutes(5));
}

}  // namespace hornbeam::engine
