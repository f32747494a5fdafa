// The subcommands of `hornbeam`. Each Add... declares its flags and help at `app`; the callback
// that CLI11 runs after parsing throws CLI::RuntimeError with the exit code when the command fails,
// having said why.
#ifndef HORNBEAM_CLI_COMMANDS_COMMAND_H_
#define HORNBEAM_CLI_COMMANDS_COMMAND_H_

#include <string>
#include <vector>

#include "base/status.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace hornbeam::cli {

class StopSignals;

void AddUp(CLI::App* app, StopSignals* signals);
void AddDemo(CLI::App* app, StopSignals* signals);
void AddQuery(CLI::App* app);
void AddPublish(CLI::App* app);
void AddJobs(CLI::App* app);

// Ends the command: prints "hornbeam COMMAND: message" to standard error and throws with exit code
// 1, unless `status` is OK.
void ExitOnError(const Status& status, const std::string& command);

// What is wrong with the arguments, `args`, that `app` could not parse: one sentence with what to
// do.
std::string UsageError(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& args);

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_COMMANDS_COMMAND_H_
