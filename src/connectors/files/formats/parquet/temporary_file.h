// A file on this machine's disk for a library that reads nothing else.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_TEMPORARY_FILE_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_TEMPORARY_FILE_H_

#include <memory>
#include <string>

#include "base/status.h"

namespace hornbeam::connectors {

// Below TMPDIR, or /tmp; removed when destroyed.
class TemporaryFile {
 public:
  // Empty.
  static StatusOr<std::unique_ptr<TemporaryFile>> Make();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_PARQUET_TEMPORARY_FILE_H_
