// Diagnostics on standard error, one line each: "2026-01-02T03:04:05.678Z I text".
// What a person asked for goes to standard output and is not logged. Thread-safe.
#ifndef HORNBEAM_BASE_LOG_H_
#define HORNBEAM_BASE_LOG_H_

#include "absl/strings/string_view.h"

namespace hornbeam {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// The least level that is written; kInfo at start, or what the environment variable HORNBEAM_LOG names
// (debug, info, warning, error, off).
void SetLogLevel(LogLevel level);

void LogDebug(absl::string_view message);
void LogInfo(absl::string_view message);
void LogWarning(absl::string_view message);
void LogError(absl::string_view message);

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_LOG_H_
