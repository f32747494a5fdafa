// The files of this machine.
#ifndef HORNBEAM_CONNECTORS_FILES_STORE_LOCAL_FILE_STORE_H_
#define HORNBEAM_CONNECTORS_FILES_STORE_LOCAL_FILE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "connectors/files/store/file_store.h"

namespace hornbeam::connectors {

// A new file is written beside its final name as ".NAME.hornbeam-new", synced, and renamed. What a
// crash leaves of that is overwritten when the same file is written again; List never gives such
// names.
//
// The etag is made of size and time of change, to the microsecond: a file that is rewritten within
// one, with as many bytes, is taken for unchanged. On a file system that is not the machine's the
// time is not known and the size is all.
class LocalFileStore final : public FileStore {
 public:
  explicit LocalFileStore(FileSystem* fs) : fs_(fs) {}

  StatusOr<std::unique_ptr<ByteSource>> OpenForRead(const std::string& path,
                                                    uint64_t offset) override;
  StatusOr<std::vector<io::FileMetadata>> List(const FilePattern& pattern) override;
  StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path, IfExists if_exists) override;
  Status Delete(const std::string& path) override;
  std::string LocalPathOf(const std::string& path) const override {
    return fs_ == FileSystem::Posix() ? path : "";
  }

 private:
  struct Entry {
    bool is_directory = false;
    io::FileMetadata metadata;
  };
  // NOT_FOUND where there is nothing (any more).
  StatusOr<Entry> Look(const std::string& path) const;
  // Adds what matches in the directory, whose paths begin with `prefix`, and below it.
  Status Walk(const FilePattern& pattern, const std::string& directory, const std::string& prefix,
              std::vector<io::FileMetadata>* files) const;

  FileSystem* const fs_;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_STORE_LOCAL_FILE_STORE_H_
