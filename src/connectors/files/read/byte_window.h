// A stretch of a file's content that moves forward: what is unread of it, as one view.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_BYTE_WINDOW_H_
#define HORNBEAM_CONNECTORS_FILES_READ_BYTE_WINDOW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "connectors/files/read/record_reader.h"
#include "connectors/files/store/byte_source.h"

namespace hornbeam::connectors {

class ByteWindow {
 public:
  // Opens the content of the file, decompressed, at `offset` in it. Compressed content is read from
  // its beginning up to there.
  Status Open(FileStore* store, const FilePart& part, uint64_t offset);

  // Not yet consumed; valid until the next call that is not const.
  std::string_view view() const { return std::string_view(buffer_).substr(next_); }
  // Adds to the view; false, and nothing added, at the end of the file.
  StatusOr<bool> Grow();
  void Consume(size_t bytes) { next_ += bytes; }
  // Of the view's first byte, in the decompressed file.
  uint64_t offset() const { return offset_ + next_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<ByteSource> content_;
  std::string buffer_;
  size_t next_ = 0;
  uint64_t offset_ = 0;  // of buffer_[0]
  bool at_end_ = false;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_BYTE_WINDOW_H_
