// A FileStore in memory, for tests: as a cloud storage it has no directories, and an etag for each
// content.
#ifndef HORNBEAM_CONNECTORS_FILES_STORE_MEMORY_FILE_STORE_H_
#define HORNBEAM_CONNECTORS_FILES_STORE_MEMORY_FILE_STORE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "connectors/files/store/file_store.h"

namespace hornbeam::connectors {

class MemoryFileStore final : public FileStore {
 public:
  // Creates or replaces a file.
  void Put(const std::string& path, std::string content);
  // All files with their contents.
  std::map<std::string, std::string> contents() const;

  StatusOr<std::unique_ptr<ByteSource>> OpenForRead(const std::string& path,
                                                    uint64_t offset) override;
  StatusOr<std::vector<io::FileMetadata>> List(const FilePattern& pattern) override;
  StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path, IfExists if_exists) override;
  Status Delete(const std::string& path) override;

 private:
  class Upload;
  struct File {
    std::shared_ptr<const std::string> content;
    int64_t generation = 0;
  };
  Status Commit(const std::string& path, IfExists if_exists, std::string content);

  mutable Mutex mutex_;
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);
  int64_t generations_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_STORE_MEMORY_FILE_STORE_H_
