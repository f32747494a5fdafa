// Sees to it that the names of files which somebody else makes and syncs survive a power cut.
#ifndef HORNBEAM_SERVICES_BIGQUERY_STORE_DURABLE_NAMES_H_
#define HORNBEAM_SERVICES_BIGQUERY_STORE_DURABLE_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"

namespace hornbeam::services::bigquery {

// DuckDB syncs its files but not the folder that names them, and it makes a new log after each
// checkpoint: on a file system where a file's own sync does not keep its name, commits in a new log
// would be lost with it. One thread at a time.
class DurableNames {
 public:
  // `files` are in one folder of the machine's disk, and may be missing; the folder is synced
  // through `fs`, which outlives this. No files: nothing is ever synced.
  explicit DurableNames(std::vector<std::string> files, FileSystem* fs = FileSystem::Posix());

  // Syncs the folder if one of the files is not the one that was there at the last OK. Otherwise it
  // costs a look at each file.
  Status Sync();

 private:
  // What tells a file from the one that had its name before; a number can be given again, but then
  // the new file begins small.
  struct Seen {
    uint64_t inode = 0;  // 0: no such file
    int64_t size = 0;
  };

  const std::vector<std::string> files_;
  FileSystem* const fs_;
  std::vector<Seen> synced_;
};

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_STORE_DURABLE_NAMES_H_
