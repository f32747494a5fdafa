// The one seam to the disk. Stores and logs are written against it and take it as a parameter;
// tests give them MemoryFileSystem, which can fail on demand and forget what was never synced.
#ifndef HORNBEAM_BASE_FILE_SYSTEM_H_
#define HORNBEAM_BASE_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hornbeam {

// A file that only grows. Not thread-safe. Bytes are on disk for good once Sync() has returned OK;
// a failed Append or Sync leaves the file's tail undefined: the owner stops using it and recovers
// by reading (a failed fsync is fatal).
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status Append(std::string_view data) = 0;
  // Data and size become durable (fdatasync).
  virtual Status Sync() = 0;
  virtual Status Close() = 0;
  // Bytes appended so far, with what was there at opening.
  virtual uint64_t size() const = 0;
};

// Positioned reads. Thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to `size` bytes at `offset` into *out (replacing it); fewer only at the end of the
  // file.
  virtual Status Read(uint64_t offset, size_t size, std::string* out) const = 0;
  virtual StatusOr<uint64_t> Size() const = 0;
};

// Held until destroyed: no other process holds a lock of the same path.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Thread-safe. Paths are as the system takes them. Errors: NOT_FOUND, ALREADY_EXISTS,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full), otherwise what errno maps to; messages name
// the path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates or empties `path`.
  virtual StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) = 0;
  // Opens for appending, creating it when it is missing.
  virtual StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(const std::string& path) = 0;
  virtual StatusOr<std::unique_ptr<RandomAccessFile>> OpenForRead(const std::string& path) = 0;
  // Cuts `path` to its first `size` bytes, durably. `size` is at most the file's size.
  virtual Status Truncate(const std::string& path, uint64_t size) = 0;
  // Writes the bytes from `offset` to the end once more in place and syncs them. After a failed
  // fsync the system may show bytes that the disk never got, and a second fsync alone then reports
  // success: recovery calls this before it relies on a tail whose Sync it has not seen succeed. A
  // crash in the middle changes no byte that was durable.
  virtual Status RewriteInPlace(const std::string& path, uint64_t offset) = 0;
  // Moves one file; atomic; replaces `to`. Durable only after SyncDirectory of the parent.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // A file or an empty directory.
  virtual Status Remove(const std::string& path) = 0;
  // With parents, durably; OK when it exists.
  virtual Status CreateDirectories(const std::string& path) = 0;
  // Makes creations, renames and removals in `path` durable.
  virtual Status SyncDirectory(const std::string& path) = 0;
  // Names (not paths) of files and directories in no particular order.
  virtual StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  virtual bool Exists(const std::string& path) = 0;
  // FAILED_PRECONDITION when another process (or another holder here) has it. Creates the file
  // `path` and leaves it.
  virtual StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;

  // The machine's disk; never deleted.
  static FileSystem* Posix();
};

// The whole content of a file.
StatusOr<std::string> ReadFile(FileSystem& fs, const std::string& path);
// Replaces `path` as a whole, durably: a new file, synced, renamed over it, its directory synced.
Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view content);

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_FILE_SYSTEM_H_
