// The meaning of a segment: which of its frames hold, where they end, and what is damage.
#ifndef HORNBEAM_ENGINE_EPOCH_SEGMENT_SCAN_H_
#define HORNBEAM_ENGINE_EPOCH_SEGMENT_SCAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "engine/epoch/ids.h"
#include "engine/epoch/log_format.h"

namespace hornbeam::engine {

// A place in the log. A frame's records are told apart by their own offsets in the file.
struct LogPosition {
  uint64_t segment = 0;
  uint64_t offset = 0;

  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
};

// What a record weighs, without its payload.
struct RecordSummary {
  UnitKey key;
  EpochId epoch = 0;
  LogPosition position;
  bool replaces = false;
  bool ends = false;  // replaces with nothing
  uint64_t size_bytes = 0;
};

struct SegmentScan {
  SegmentHeader header;
  uint64_t header_size = 0;
  uint64_t file_size = 0;
  uint64_t end = 0;     // what follows is a torn or unsealed tail
  uint64_t synced = 0;  // what the last frame vouches for; 0 without frames
  EpochId last_sealed = 0;
  uint64_t next_note = 1;
  uint64_t first_needed_segment = 0;
};

// Receives what holds, in log order, while a segment is scanned.
class SegmentVisitor {
 public:
  virtual ~SegmentVisitor() = default;
  // Called at the record's seal.
  virtual void OnRecord(const RecordSummary& record) = 0;
  virtual void OnNotes(const NotesBody& notes, LogPosition position) = 0;
};

// Reads and verifies all of a segment. `last`: it is the newest one, and may have a torn tail.
// DATA_LOSS with file and offset for damage. `visitor` may be null.
StatusOr<SegmentScan> ScanSegment(FileSystem* fs, const std::string& path, bool last,
                                  SegmentVisitor* visitor);

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_SEGMENT_SCAN_H_
