// The moments between which a crash makes a difference: what was done before one is on disk, or outside, and what comes after
// it is not yet.
#ifndef HORNBEAM_ENGINE_JOB_COMMIT_POINT_H_
#define HORNBEAM_ENGINE_JOB_COMMIT_POINT_H_

#include <array>

namespace hornbeam::engine {

enum class CommitPoint {
  kRecovered,       // the log is replayed; nothing has been written in this run
  kEpochOpened,     // the workers are asked to end an epoch
  kEpochGathered,   // all have handed over what belongs to it
  kEpochSealed,     // it is in the log; neither sinks nor sources know
  kSinksTold,       // its rows may be delivered; sources do not know
  kSourcesTold,     // sources acknowledge it
  kRowsDelivered,   // the destination has confirmed rows; the log does not know
  kDeliveryNoted,   // the log knows, perhaps not on disk
  kDecisionNoted,   // a sink's decision (a stream, an offset, rows left out) is on disk, and nothing was done about it
  kSinkFinished,    // a writer has finished; the log does not know
};

inline constexpr std::array kCommitPoints = {
    CommitPoint::kRecovered,     CommitPoint::kEpochOpened,   CommitPoint::kEpochGathered, CommitPoint::kEpochSealed,
    CommitPoint::kSinksTold,     CommitPoint::kSourcesTold,   CommitPoint::kRowsDelivered, CommitPoint::kDeliveryNoted,
    CommitPoint::kDecisionNoted, CommitPoint::kSinkFinished};

constexpr const char* ToString(CommitPoint point) {
  switch (point) {
    case CommitPoint::kRecovered: return "recovered";
    case CommitPoint::kEpochOpened: return "epoch opened";
    case CommitPoint::kEpochGathered: return "epoch gathered";
    case CommitPoint::kEpochSealed: return "epoch sealed";
    case CommitPoint::kSinksTold: return "sinks told";
    case CommitPoint::kSourcesTold: return "sources told";
    case CommitPoint::kRowsDelivered: return "rows delivered";
    case CommitPoint::kDeliveryNoted: return "delivery noted";
    case CommitPoint::kDecisionNoted: return "decision noted";
    case CommitPoint::kSinkFinished: return "sink finished";
  }
  return "";
}

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_JOB_COMMIT_POINT_H_
