// What is known of a file without reading it (Beam's MatchResult.Metadata).
#ifndef HORNBEAM_IO_FILE_METADATA_H_
#define HORNBEAM_IO_FILE_METADATA_H_

#include <cstdint>
#include <string>

#include "model/coder.h"

namespace hornbeam::io {

struct FileMetadata {
  std::string path;
  uint64_t size_bytes = 0;
  int64_t modified_us = 0;  // since 1970; 0 where the store does not know
  std::string etag;         // changes whenever the content does; opaque

  friend bool operator==(const FileMetadata&, const FileMetadata&) = default;
};
HORNBEAM_CODER(FileMetadata, path, size_bytes, modified_us, etag)

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_FILE_METADATA_H_
