#include "cli/commands/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/strings/match.h"

namespace hornbeam::cli {

void ExitOnError(const Status& status, const std::string& command) {
  if (status.ok()) return;
  const absl::string_view message = status.message();
  const char* const stop = absl::EndsWith(message, ".") || absl::EndsWith(message, "\n") ? "" : ".";
  std::fprintf(stderr, "hornbeam %s: %s%s\n", command.c_str(), std::string(message).c_str(), stop);
  throw CLI::RuntimeError(1);
}

}  // namespace hornbeam::cli
