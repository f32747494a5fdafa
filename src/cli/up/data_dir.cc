#include "cli/up/data_dir.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace hornbeam::cli {

std::string DefaultDataDir() {
  if (const char* data_home = std::getenv("XDG_DATA_HOME");
      data_home != nullptr && *data_home == '/') {
    return absl::StrCat(data_home, "/hornbeam");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return absl::StrCat(home, "/.local/share/hornbeam");
  }
  return ".hornbeam";
}

}  // namespace hornbeam::cli
