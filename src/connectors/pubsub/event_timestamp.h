// The event time that a message's timestamp attribute carries.
#ifndef HORNBEAM_CONNECTORS_PUBSUB_EVENT_TIMESTAMP_H_
#define HORNBEAM_CONNECTORS_PUBSUB_EVENT_TIMESTAMP_H_

#include <optional>
#include <string_view>

#include "model/time.h"

namespace hornbeam::connectors {

// Milliseconds since 1970 ("1514764800123", a minus sign allowed) or RFC 3339 with seconds and an
// offset ("2018-01-01T00:00:00.123Z", "2018-01-01T02:00:00+02:00"), as in Beam's PubsubIO. Digits
// behind the microseconds are dropped. Nothing where the text is neither, or lies outside of what
// an event time can be.
std::optional<model::EventTime> ParseEventTimestamp(std::string_view text);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_PUBSUB_EVENT_TIMESTAMP_H_
