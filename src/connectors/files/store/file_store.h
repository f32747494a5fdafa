// Where files are: the seam between everything that reads and writes them and the disk or the cloud
// storage that has them.
#ifndef HORNBEAM_CONNECTORS_FILES_STORE_FILE_STORE_H_
#define HORNBEAM_CONNECTORS_FILES_STORE_FILE_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "connectors/files/store/byte_source.h"
#include "connectors/files/store/file_pattern.h"
#include "hornbeam/io/file_metadata.h"

namespace hornbeam::connectors {

// What becomes of a file that has the name already.
enum class IfExists {
  kMustBeSame,  // it stays; ALREADY_EXISTS unless its content is what was to be written
  kReplace,
};

// A file that nobody sees until it is whole. Not thread-safe. Destroyed without a Commit, or after
// a failed one, it was never there; after a crash the store may keep bytes of it under names that
// List does not give.
class NewFile {
 public:
  virtual ~NewFile() = default;
  virtual Status Append(std::string_view bytes) = 0;
  // Makes it visible and durable, all at once. Not called again after an error: a new NewFile with
  // the same bytes may be committed instead, also by the next process, and also where the first
  // Commit had its effect all the same.
  virtual Status Commit() = 0;
};

// Thread-safe. Calls may block. Paths are as the store takes them, with the scheme where it has one
// ("gs://bucket/a.txt"). Errors name the path: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE where it
// is worth trying again, and others.
class FileStore {
 public:
  virtual ~FileStore() = default;

  // The bytes from `offset` on; one behind the end has none.
  virtual StatusOr<std::unique_ptr<ByteSource>> OpenForRead(const std::string& path,
                                                            uint64_t offset) = 0;
  // The files that match, by ascending path; no directories. None at all is no error, but a
  // directory that cannot be read is.
  virtual StatusOr<std::vector<io::FileMetadata>> List(const FilePattern& pattern) = 0;
  // The directories that the path needs are made.
  virtual StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path,
                                                    IfExists if_exists) = 0;
  // OK where there is none.
  virtual Status Delete(const std::string& path) = 0;
  // Where a library that reads this machine's disk alone finds the file; empty where it does not.
  virtual std::string LocalPathOf(const std::string& path) const { return {}; }
};

// Paths that begin with "scheme://" are from now on those of the store that `new_store` gives
// (called once for each path that is opened; it may give the same store each time). Replaces what
// the scheme had before. Thread-safe.
using NewFileStore = std::function<StatusOr<std::shared_ptr<FileStore>>()>;
void RegisterFileStore(const std::string& scheme, NewFileStore new_store);

// The store of a path or pattern: of the scheme's, or, without a scheme, the local one on `fs`.
// UNIMPLEMENTED, with the schemes that there are, for one that is not registered.
StatusOr<std::shared_ptr<FileStore>> FileStoreOf(std::string_view path, FileSystem* fs);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_STORE_FILE_STORE_H_
