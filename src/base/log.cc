#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

namespace hornbeam {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::info;
}

LogLevel LevelFromEnvironment() {
  const char* name = std::getenv("HORNBEAM_LOG");
  const absl::string_view level = name ? name : "info";
  if (level == "debug") return LogLevel::kDebug;
  if (level == "warning") return LogLevel::kWarning;
  if (level == "error") return LogLevel::kError;
  if (level == "off") return LogLevel::kOff;
  return LogLevel::kInfo;
}

spdlog::logger& Logger() {
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("hornbeam", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %v", spdlog::pattern_time_type::utc);
    made->set_level(ToSpdlog(LevelFromEnvironment()));
    return made;
  }();
  return *logger;
}

void Write(spdlog::level::level_enum level, absl::string_view message) {
  Logger().log(level, "{}", std::string_view(message.data(), message.size()));
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }
void LogDebug(absl::string_view message) { Write(spdlog::level::debug, message); }
void LogInfo(absl::string_view message) { Write(spdlog::level::info, message); }
void LogWarning(absl::string_view message) { Write(spdlog::level::warn, message); }
void LogError(absl::string_view message) { Write(spdlog::level::err, message); }

}  // namespace hornbeam
