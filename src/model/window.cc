#include "model/window.h"

#include "absl/strings/str_cat.h"

namespace hornbeam::model {

std::string ToString(const Window& window) {
  if (window.is_global()) return "[global]";
  return absl::StrCat("[", ToString(window.start), ", ", ToString(window.end), ")");
}

}  // namespace hornbeam::model
