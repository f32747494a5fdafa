// What files are called (Beam's FileIO.Write.FileNaming and DefaultFilenamePolicy).
#ifndef HORNBEAM_IO_FILE_NAMING_H_
#define HORNBEAM_IO_FILE_NAMING_H_

#include <functional>
#include <string>
#include <string_view>

#include "hornbeam/io/compression.h"
#include "hornbeam/types.h"

namespace hornbeam::io {

// Whose file it is.
struct FileNameContext {
  Window window;
  PaneInfo pane;
  int64_t shard = 0;
  int64_t shards = 1;
  Compression compression = Compression::kUncompressed;
};

// The whole path. Called on all workers at once; equal contexts must have equal names, and
// different ones different names.
using FileNaming = std::function<std::string(const FileNameContext&)>;

// Beam's names. `output` is a path whose last part begins the names ("out/orders", "out/"); then
// follow the shard template and `suffix`. In the template, runs of S are the shard's number and of
// N how many there are, with as many digits; W is the window
// ("2013-01-01T05:00:00.000Z-2013-01-01T06:00:00.000Z", "GlobalWindow"), P the pane ("pane-0", with
// "-late" and "-last" where it is). An empty template is "W-P-SSSSS-of-NNNNN", or for the global
// window "-SSSSS-of-NNNNN"; where no S is in it, a shard that is one of several has no name of its
// own, which WriteFiles refuses. A compressed file has its extension at the end.
FileNaming DefaultFileNaming(std::string output, std::string suffix = "",
                             std::string shard_template = "");

// "<output>-HH:MM-HH:MM-<shard>": begin and end of the window in UTC, and the shard's number. Names
// repeat after a day, so the output's path should have the date in it, as `dates` gives it: where
// true, YYYY, MM, DD, HH and mm in `output` are of the window's end, as in Google's templates. A
// pane behind the first has "-pane-<index>" before the shard.
FileNaming TimeOfDayFileNaming(std::string output, std::string suffix = "", bool dates = false);

// `pattern` with YYYY, MM, DD, HH and mm replaced by the parts of `time` in UTC, each with its
// digits.
std::string FormatDatePattern(std::string_view pattern, EventTime time);

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_FILE_NAMING_H_
