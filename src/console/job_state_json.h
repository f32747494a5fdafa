// The one JSON form of a job's state: what job processes push, what the console answers, what the
// page and the command line read, and what is kept on disk of finished jobs. docs/cli.md describes
// its fields.
#ifndef HORNBEAM_CONSOLE_JOB_STATE_JSON_H_
#define HORNBEAM_CONSOLE_JOB_STATE_JSON_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/job/job_snapshot.h"
#include "nlohmann/json_fwd.hpp"

namespace hornbeam::console {

nlohmann::json ToJson(const engine::JobSnapshot& snapshot);

// The inverse. Unknown fields are ignored and missing ones keep their defaults, so that a job and a
// console of neighbouring versions understand each other. INVALID_ARGUMENT when `json` is no object
// or a field has another type.
StatusOr<engine::JobSnapshot> JobSnapshotFromJson(const nlohmann::json& json);

// Compact text of `json`; bytes that are no UTF-8 become U+FFFD.
std::string JsonText(const nlohmann::json& json);

// Done, drained, cancelled or failed: nothing changes any more.
bool IsTerminal(engine::JobState state);

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_JOB_STATE_JSON_H_
