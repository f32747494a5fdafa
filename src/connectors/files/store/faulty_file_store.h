// A FileStore that fails as a remote one does, for tests.
#ifndef HORNBEAM_CONNECTORS_FILES_STORE_FAULTY_FILE_STORE_H_
#define HORNBEAM_CONNECTORS_FILES_STORE_FAULTY_FILE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/rng.h"
#include "connectors/files/store/file_store.h"

namespace hornbeam::connectors {

// Passes calls on to another store. One call in `one_in`, at random, is UNAVAILABLE, and now and
// then a read in the middle of a file; 0: none. A Commit that fails had its effect all the same in
// half of the cases. Reads come in short pieces.
class FaultyFileStore final : public FileStore {
 public:
  FaultyFileStore(FileStore* store, uint64_t one_in, uint64_t seed)
      : store_(store), one_in_(one_in), rng_(seed) {}

  // How many calls failed.
  int64_t faults() const {
    MutexLock lock(&mutex_);
    return faults_;
  }

  StatusOr<std::unique_ptr<ByteSource>> OpenForRead(const std::string& path,
                                                    uint64_t offset) override;
  StatusOr<std::vector<io::FileMetadata>> List(const FilePattern& pattern) override;
  StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path, IfExists if_exists) override;
  Status Delete(const std::string& path) override;

 private:
  class FaultyNewFile;
  class ShortReads;
  Status Perhaps(const std::string& path);
  uint64_t Below(uint64_t n);

  FileStore* const store_;
  const uint64_t one_in_;
  mutable Mutex mutex_;
  Rng rng_ ABSL_GUARDED_BY(mutex_);
  int64_t faults_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_STORE_FAULTY_FILE_STORE_H_
