// Reads one segment of the job log frame by frame.
#ifndef HORNBEAM_ENGINE_EPOCH_SEGMENT_READER_H_
#define HORNBEAM_ENGINE_EPOCH_SEGMENT_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/status.h"
#include "engine/epoch/log_format.h"

namespace hornbeam::engine {

// Not thread-safe. Knows frames, not what they mean: which are missing or contradict each other is
// SegmentScan's.
class SegmentReader {
 public:
  // Reads the header. DATA_LOSS when it is not valid, UNIMPLEMENTED for another version; messages
  // name the file.
  static StatusOr<std::unique_ptr<SegmentReader>> Open(FileSystem* fs, std::string path);

  enum class Outcome {
    kFrame,
    kEnd,      // exactly at the end of the file
    kInvalid,  // what is at position() is no valid frame; Next stays there
  };
  // A status is an I/O error.
  StatusOr<Outcome> Next();

  // Of the last kFrame; the body is valid until the next call.
  const FrameHeader& frame() const { return frame_; }
  std::string_view body() const { return body_; }

  // The greatest `synced` of any valid frame header at or after position(); 0 when there is none.
  // Leaves the position.
  StatusOr<uint64_t> SyncedAccordingToTheRest();

  const SegmentHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  uint64_t header_size() const { return header_size_; }
  uint64_t file_size() const { return file_size_; }
  // Where the next frame starts.
  uint64_t position() const { return position_; }

 private:
  SegmentReader(std::string path, std::unique_ptr<RandomAccessFile> file, uint64_t file_size)
      : path_(std::move(path)), file_(std::move(file)), file_size_(file_size) {}

  // The `size` bytes at `offset`, which the file has; valid until the next call.
  StatusOr<std::string_view> View(uint64_t offset, size_t size);

  const std::string path_;
  const std::unique_ptr<RandomAccessFile> file_;
  const uint64_t file_size_;
  SegmentHeader header_;
  uint64_t header_size_ = 0;
  uint64_t position_ = 0;
  FrameHeader frame_;
  std::string_view body_;
  std::string buffer_;  // of the file, from buffer_offset_
  uint64_t buffer_offset_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_SEGMENT_READER_H_
