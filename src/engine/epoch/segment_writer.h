// Writes one segment of the job log.
#ifndef HORNBEAM_ENGINE_EPOCH_SEGMENT_WRITER_H_
#define HORNBEAM_ENGINE_EPOCH_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_system.h"
#include "base/status.h"
#include "engine/epoch/log_format.h"

namespace hornbeam::engine {

// Not thread-safe. After an error the segment is not written to any more: the log is opened again.
class SegmentWriter {
 public:
  // A new file with its header, durably.
  static StatusOr<std::unique_ptr<SegmentWriter>> Create(FileSystem* fs, const std::string& dir,
                                                         const SegmentHeader& header);
  // Goes on at the end of `path`, all of which is on disk.
  static StatusOr<std::unique_ptr<SegmentWriter>> Resume(FileSystem* fs, const std::string& path,
                                                         uint64_t salt);

  // Small frames are gathered; Flush and Sync write them out.
  Status Append(FrameKind kind, uint64_t number, std::string_view body);
  Status Flush();
  Status Sync();
  Status Close() { return file_->Close(); }

  // Where the next frame starts.
  uint64_t offset() const { return offset_; }
  bool all_synced() const { return synced_ == offset_; }
  const std::string& path() const { return path_; }

 private:
  SegmentWriter(std::string path, std::unique_ptr<WritableFile> file, uint64_t salt,
                uint64_t offset)
      : path_(std::move(path)),
        file_(std::move(file)),
        salt_(salt),
        offset_(offset),
        synced_(offset) {}

  const std::string path_;
  const std::unique_ptr<WritableFile> file_;
  const uint64_t salt_;
  uint64_t offset_;
  uint64_t synced_;
  std::string gathered_;  // the bytes before offset_ that the file does not have yet
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_SEGMENT_WRITER_H_
