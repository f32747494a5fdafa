// A FileSystem in memory for tests: it forgets what was never synced, and fails on demand.
#ifndef HORNBEAM_BASE_MEMORY_FILE_SYSTEM_H_
#define HORNBEAM_BASE_MEMORY_FILE_SYSTEM_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/mutex.h"
#include "base/rng.h"

namespace hornbeam {

// What FailNth can make fail. kCreate is Create and an OpenForAppend that creates; kAppend, kSync
// are a file's.
enum class FileOperation {
  kCreate,
  kAppend,
  kSync,
  kSyncDirectory,
  kRename,
  kRemove,
  kTruncate,
  kRewriteInPlace,
  kRead,
};

// Thread-safe. Paths are plain strings with '/'; a file needs its directory (CreateDirectories),
// "." and "/" exist.
//
// The model is stricter than any real disk: bytes survive a power cut only under the file's Sync,
// names only under the directory's SyncDirectory, and after a failed Sync the bytes that it did not
// make durable never become so, although they stay readable until the power goes (RewriteInPlace
// alone makes them durable).
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem() = default;

  // As a power cut: everything not covered by Sync or SyncDirectory vanishes; open files fail from
  // then on and locks are released.
  void DropUnsynced();
  // The same, but the disk had got further than it had to: of the unsynced bytes of each file a
  // random part survives, now and then with whole 512-byte sectors of zeros inside, and of the
  // unsynced changes of names a random number, oldest first.
  void DropUnsynced(Rng* rng);

  // The `nth` (1 is the next) such operation from now on fails with `error`, once. A failed Append
  // leaves half of its bytes. Several may be armed.
  void FailNth(FileOperation operation, uint64_t nth, Status error);
  void ClearFaults();
  // How many such operations there have been, failed ones included: the range for FailNth in an
  // exhaustive test.
  uint64_t Count(FileOperation operation) const;

  // Appends that would bring the sum of all file sizes above `bytes` fail with RESOURCE_EXHAUSTED,
  // having written what fits. No limit at first.
  void SetCapacity(uint64_t bytes);
  uint64_t UsedBytes() const;

  // Changes stored bytes behind every reader's back, durably: for tests of corruption. The file
  // exists.
  void Overwrite(const std::string& path, uint64_t offset, std::string_view bytes);

  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(const std::string& path) override;
  StatusOr<std::unique_ptr<RandomAccessFile>> OpenForRead(const std::string& path) override;
  Status Truncate(const std::string& path, uint64_t size) override;
  Status RewriteInPlace(const std::string& path, uint64_t offset) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status CreateDirectories(const std::string& path) override;
  Status SyncDirectory(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& path) override;
  bool Exists(const std::string& path) override;
  StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

 private:
  class OpenWritable;
  class OpenReadable;
  class HeldLock;

  struct Inode {
    std::string bytes;
    size_t synced_bytes = 0;  // this prefix is on disk
    bool lost_tail = false;   // a Sync failed: what follows the prefix never gets there by itself
    // Create emptied the file and no Sync has followed: what the disk still holds.
    std::unique_ptr<std::string> before_emptying;
  };
  using InodePtr = std::shared_ptr<Inode>;
  // One change of names, applied whole; a null inode is a removal.
  struct NameChange {
    std::vector<std::pair<std::string, InodePtr>> entries;
  };
  struct Fault {
    FileOperation operation;
    uint64_t at;  // fails when the count reaches this
    Status error;
  };
  static constexpr size_t kOperations = static_cast<size_t>(FileOperation::kRead) + 1;

  Status Step(FileOperation operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckParent(const std::string& path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<InodePtr> Find(const std::string& path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<std::unique_ptr<WritableFile>> CreateLocked(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChangeNames(NameChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t UsedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Append(Inode* inode, const std::string& path, uint64_t generation, std::string_view data);
  Status Sync(Inode* inode, const std::string& path, uint64_t generation);

  mutable Mutex mutex_;
  std::map<std::string, InodePtr> files_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, InodePtr> durable_files_ ABSL_GUARDED_BY(mutex_);
  std::vector<NameChange> unsynced_names_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> directories_ ABSL_GUARDED_BY(mutex_) = {"", ".", "/"};
  std::set<std::string> locked_ ABSL_GUARDED_BY(mutex_);
  std::array<uint64_t, kOperations> counts_ ABSL_GUARDED_BY(mutex_) = {};
  std::vector<Fault> faults_ ABSL_GUARDED_BY(mutex_);
  uint64_t capacity_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // grows with every power cut
};

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_MEMORY_FILE_SYSTEM_H_
