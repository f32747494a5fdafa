#include "connectors/files/formats/parquet/temporary_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {

StatusOr<std::unique_ptr<TemporaryFile>> TemporaryFile::Make() {
  const char* const folder = std::getenv("TMPDIR");
  std::string path =
      absl::StrCat(folder == nullptr || *folder == '\0' ? "/tmp" : folder, "/hornbeam-XXXXXX");
  const int fd = ::mkstemp(path.data());
  if (fd < 0) {
    const int error = errno;
    return ErrnoStatus(error, absl::StrCat("creating a temporary file like '", path, "'"));
  }
  ::close(fd);
  return std::unique_ptr<TemporaryFile>(new TemporaryFile(std::move(path)));
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

}  // namespace hornbeam::connectors
