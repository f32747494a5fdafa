// How elements become the content of a file (Beam's FileIO.Sink).
#ifndef HORNBEAM_IO_FILE_FORMAT_H_
#define HORNBEAM_IO_FILE_FORMAT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace hornbeam::io {

// Makes the content of one file of its records. Immutable and thread-safe.
class FileSink {
 public:
  virtual ~FileSink() = default;
  // `records` is not empty. `seed` differs from file to file and is the same when the same file is
  // made again: for what has to be unique in a file, such as a sync marker. The content must follow
  // from the two alone.
  virtual StatusOr<std::string> Content(const std::vector<std::string>& records,
                                        uint64_t seed) const = 0;
};

// Files with elements of type T.
template <typename T>
struct FileFormat {
  std::shared_ptr<const FileSink> sink;
  // The element's record, put into *record (empty at the call). An error, or an exception, makes
  // the element a failed one.
  std::function<Status(const T& element, std::string* record)> encode;
  // What names of such files end with: ".txt".
  std::string suffix;
  // What is wrong with the format itself; then there is no sink.
  Status mistake;
};

// Each string with the delimiter after it. A string that has the delimiter in it is a failed
// element. Header and footer are lines, too, in each file, where they are not empty.
struct TextFormatOptions {
  std::string delimiter = "\n";
  std::string header = "";
  std::string footer = "";
};
FileFormat<std::string> TextFormat(TextFormatOptions options = {});

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_FILE_FORMAT_H_
