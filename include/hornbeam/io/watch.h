// Looking for new files again and again (Beam's Watch, as FileIO.Match.continuously uses it).
#ifndef HORNBEAM_IO_WATCH_H_
#define HORNBEAM_IO_WATCH_H_

#include <cstdint>

#include "hornbeam/types.h"

namespace hornbeam::io {

// When a watch ends. By the job's clock, over restarts.
struct WatchTermination {
  enum class Kind : uint8_t { kNever, kAfterTotalOf, kAfterTimeSinceNewFile };
  Kind kind = Kind::kNever;
  Duration after{};

  static WatchTermination Never() { return {}; }
  static WatchTermination AfterTotalOf(Duration d) { return {Kind::kAfterTotalOf, d}; }
  // Since the watch began, or since a file was found last.
  static WatchTermination AfterTimeSinceNewFile(Duration d) {
    return {Kind::kAfterTimeSinceNewFile, d};
  }
};

struct Watch {
  Duration interval = Seconds(10);  // > 0; half a second is the shortest that is kept
  WatchTermination termination = WatchTermination::Never();
  // A file whose etag has changed is new again (Beam's matchUpdatedFiles). Otherwise a path is
  // given once for ever.
  bool updated_files = false;
};

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_WATCH_H_
