// Cuts files into records.
#ifndef HORNBEAM_CONNECTORS_FILES_READ_RECORD_READER_H_
#define HORNBEAM_CONNECTORS_FILES_READ_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "connectors/files/store/file_store.h"
#include "hornbeam/io/compression.h"
#include "hornbeam/io/file_metadata.h"

namespace hornbeam::connectors {

// What one reader reads at a time: a file, or the records of it that begin in [begin, end).
struct FilePart {
  io::FileMetadata file;
  io::Compression compression = io::Compression::kUncompressed;  // never kAuto
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;  // decompressed bytes; UINT64_MAX: to the end
};

// Reads the parts of files one after another. Not thread-safe. Errors name the file and the place
// in it.
template <typename T>
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Begins with a part: at the record `position` of it, as PutPosition wrote it, or where it is
  // empty at its first.
  virtual Status Open(FileStore* store, const FilePart& part, std::string_view position) = 0;
  // The next record, into *record; false behind the last.
  virtual StatusOr<bool> Next(T* record) = 0;
  // Appends the place behind the record read last.
  virtual void PutPosition(std::string* position) const = 0;
};

// Whether files of the kind can be read from somewhere in the middle, where they are not
// compressed.
enum class Splitting { kWholeFiles, kParts };

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_READ_RECORD_READER_H_
