// What one subscription has acknowledged, on disk (docs/formats/pubsub.md).
#ifndef HORNBEAM_SERVICES_PUBSUB_STORE_ACK_LOG_H_
#define HORNBEAM_SERVICES_PUBSUB_STORE_ACK_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "services/pubsub/store/seq_range.h"

namespace hornbeam::services::pubsub {

// All seqs below `floor` and those in `ranges` are acknowledged.
struct AckState {
  Seq floor = 0;
  std::vector<SeqRange> ranges;  // ascending, apart, above the floor when normalised

  // Sorts and joins the ranges and lets the floor swallow what it touches.
  void Normalise();
};

// The records of an ack file, for AckLog and the tests.
void AppendAckFileHeader(std::string* out);
void AppendAckRecord(std::string* out, const AckState& delta);
// Reads a whole file's content into `*state`. Returns the length of the good part; what is behind
// it is a torn tail. DATA_LOSS, without the file's name, when the damage is not at the tail.
StatusOr<size_t> ReadAckFile(std::string_view content, AckState* state);

// Not thread-safe.
class AckLog {
 public:
  // Creates the file when it is missing; `*state` gets what it says (floor at least `start`).
  static StatusOr<std::unique_ptr<AckLog>> Open(FileSystem* fs, std::string path, Seq start,
                                                AckState* state);
  ~AckLog();

  // Makes `delta` durable. After an error the file is rewritten by the next Rewrite; Append refuses
  // until then.
  Status Append(const AckState& delta);
  // Whether the file has grown enough to be worth replacing, or must be after an error.
  bool WantsRewrite() const;
  // Replaces the file by one record of the full state.
  Status Rewrite(const AckState& full);

 private:
  AckLog(FileSystem* fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  FileSystem* const fs_;
  const std::string path_;
  std::unique_ptr<WritableFile> file_;  // null after an error
  uint64_t rewritten_bytes_ = 0;
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_STORE_ACK_LOG_H_
