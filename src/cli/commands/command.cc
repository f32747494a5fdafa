#include "cli/commands/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace hornbeam::cli {

void ExitOnError(const Status& status, const std::string& command) {
  if (status.ok()) return;
  const absl::string_view message = status.message();
  const char* const stop = absl::EndsWith(message, ".") || absl::EndsWith(message, "\n") ? "" : ".";
  std::fprintf(stderr, "hornbeam %s: %s%s\n", command.c_str(), std::string(message).c_str(), stop);
  throw CLI::RuntimeError(1);
}

std::string UsageError(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& args) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  size_t next = 0;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    absl::StrAppend(&name, " ", command->get_name());
    ++next;
  }
  absl::string_view what = error.what();
  absl::ConsumeSuffix(&what, ".");
  // To CLI11 a command that it does not know is one that is missing.
  const bool is_unknown = !command->get_subcommands({}).empty() && next < args.size() &&
                          !absl::StartsWith(args[next], "-");
  const std::string problem =
      is_unknown ? absl::StrCat("there is no command '", args[next], "'") : std::string(what);
  return absl::StrCat(name, ": ", problem, "; `", name, " --help` tells what there is.");
}

}  // namespace hornbeam::cli
