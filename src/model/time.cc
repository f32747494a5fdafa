#include "model/time.h"

#include "absl/time/time.h"

namespace hornbeam::model {

std::string ToString(EventTime t) {
  if (t <= EventTime::Min()) return "-inf";
  if (t >= EventTime::EndOfGlobalWindow()) return "+inf";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", absl::FromUnixMicros(t.us), absl::UTCTimeZone());
}

}  // namespace hornbeam::model
