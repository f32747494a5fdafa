#include "hornbeam/io/file_naming.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace hornbeam::io {
namespace {

absl::Time ToTime(EventTime t) { return absl::FromUnixMicros(t.us); }

std::string Utc(const char* format, EventTime t) {
  return absl::FormatTime(format, ToTime(t), absl::UTCTimeZone());
}

// With milliseconds, as Java writes instants; with microseconds where there are any.
std::string WindowName(const Window& window) {
  if (window.is_global()) return "GlobalWindow";
  const auto instant = [](EventTime t) {
    return Utc(t.us % 1000 == 0 ? "%Y-%m-%dT%H:%M:%E3SZ" : "%Y-%m-%dT%H:%M:%E6SZ", t);
  };
  return absl::StrCat(instant(window.start), "-", instant(window.end));
}

std::string PaneName(const PaneInfo& pane) {
  return absl::StrCat("pane-", pane.index, pane.timing == PaneTiming::kLate ? "-late" : "",
                      pane.is_last ? "-last" : "");
}

std::string FillTemplate(std::string_view shard_template, const FileNameContext& file) {
  std::string name;
  for (size_t at = 0; at < shard_template.size();) {
    const char c = shard_template[at];
    size_t run = 1;
    while ((c == 'S' || c == 'N') && at + run < shard_template.size() &&
           shard_template[at + run] == c)
      ++run;
    switch (c) {
      case 'S': absl::StrAppendFormat(&name, "%0*d", static_cast<int>(run), file.shard); break;
      case 'N': absl::StrAppendFormat(&name, "%0*d", static_cast<int>(run), file.shards); break;
      case 'W': name += WindowName(file.window); break;
      case 'P': name += PaneName(file.pane); break;
      default: name.push_back(c);
    }
    at += run;
  }
  return name;
}

}  // namespace

std::string FormatDatePattern(std::string_view pattern, EventTime time) {
  constexpr std::pair<std::string_view, const char*> kParts[] = {
      {"YYYY", "%Y"}, {"MM", "%m"}, {"DD", "%d"}, {"HH", "%H"}, {"mm", "%M"}};
  std::string text;
  while (!pattern.empty()) {
    bool replaced = false;
    for (const auto& [part, format] : kParts) {
      if (!pattern.starts_with(part)) continue;
      text += Utc(format, time);
      pattern.remove_prefix(part.size());
      replaced = true;
      break;
    }
    if (replaced) continue;
    text.push_back(pattern.front());
    pattern.remove_prefix(1);
  }
  return text;
}

FileNaming DefaultFileNaming(std::string output, std::string suffix, std::string shard_template) {
  return [output = std::move(output), suffix = std::move(suffix),
          shard_template = std::move(shard_template)](const FileNameContext& file) {
    std::string_view chosen = shard_template;
    if (chosen.empty()) chosen = file.window.is_global() ? "-SSSSS-of-NNNNN" : "W-P-SSSSS-of-NNNNN";
    return absl::StrCat(output, FillTemplate(chosen, file), suffix, ExtensionOf(file.compression));
  };
}

FileNaming TimeOfDayFileNaming(std::string output, std::string suffix, bool dates) {
  return
      [output = std::move(output), suffix = std::move(suffix), dates](const FileNameContext& file) {
        return absl::StrCat(dates ? FormatDatePattern(output, file.window.end) : output, "-",
                            Utc("%H:%M", file.window.start), "-", Utc("%H:%M", file.window.end),
                            file.pane.index == 0 ? "" : absl::StrCat("-pane-", file.pane.index),
                            "-", file.shard, suffix, ExtensionOf(file.compression));
      };
}

}  // namespace hornbeam::io
