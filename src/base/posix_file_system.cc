#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"

namespace hornbeam {
namespace {

constexpr size_t kRewriteChunkBytes = 1 << 20;

Status LastError(absl::string_view action, const std::string& path) {
  const int error = errno;
  return ErrnoStatus(error, absl::StrCat(action, " '", path, "'"));
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// An open file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

StatusOr<Descriptor> Open(const std::string& path, int flags, absl::string_view action) {
  while (true) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd >= 0) return Descriptor(fd);
    if (errno != EINTR) return LastError(action, path);
  }
}

StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return LastError("reading the size of", path);
  return static_cast<uint64_t>(info.st_size);
}

Status ReadAt(int fd, const std::string& path, uint64_t offset, size_t size, std::string* out) {
  out->resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd, out->data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const Status error = LastError("reading", path);
      out->clear();
      return error;
    }
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  out->resize(done);
  return absl::OkStatus();
}

// Once a write or a sync has failed the kernel may have dropped the dirty pages, and a later sync
// would claim success: the first failure is the file's last word.
class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, Descriptor fd, uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  Status Append(std::string_view data) override {
    HB_RETURN_IF_ERROR(failure_);
    while (!data.empty()) {
      const ssize_t n = ::write(fd_.get(), data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure_ = LastError("writing", path_);
      data.remove_prefix(static_cast<size_t>(n));
      size_ += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  Status Sync() override {
    HB_RETURN_IF_ERROR(failure_);
    if (::fdatasync(fd_.get()) != 0) failure_ = LastError("syncing", path_);
    return failure_;
  }

  Status Close() override {
    HB_RETURN_IF_ERROR(failure_);
    failure_ = absl::FailedPreconditionError(absl::StrCat("'", path_, "' is closed"));
    if (::close(fd_.Release()) != 0) return LastError("closing", path_);
    return absl::OkStatus();
  }

  uint64_t size() const override { return size_; }

 private:
  const std::string path_;
  Descriptor fd_;
  uint64_t size_;
  Status failure_;
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  PosixRandomAccessFile(std::string path, Descriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  Status Read(uint64_t offset, size_t size, std::string* out) const override {
    return ReadAt(fd_.get(), path_, offset, size, out);
  }
  StatusOr<uint64_t> Size() const override { return SizeOf(fd_.get(), path_); }

 private:
  const std::string path_;
  const Descriptor fd_;
};

// flock() belongs to the open file description: it excludes other holders of this process too, and
// ends with it.
class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  const Descriptor fd_;
};

class PosixFileSystem final : public FileSystem {
 public:
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    HB_ASSIGN_OR_RETURN(Descriptor fd, Open(path, O_WRONLY | O_CREAT | O_TRUNC, "creating"));
    return std::make_unique<PosixWritableFile>(path, std::move(fd), 0);
  }

  StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(const std::string& path) override {
    HB_ASSIGN_OR_RETURN(Descriptor fd, Open(path, O_WRONLY | O_CREAT | O_APPEND, "opening"));
    HB_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(fd.get(), path));
    return std::make_unique<PosixWritableFile>(path, std::move(fd), size);
  }

  StatusOr<std::unique_ptr<RandomAccessFile>> OpenForRead(const std::string& path) override {
    HB_ASSIGN_OR_RETURN(Descriptor fd, Open(path, O_RDONLY, "opening"));
    return std::make_unique<PosixRandomAccessFile>(path, std::move(fd));
  }

  Status Truncate(const std::string& path, uint64_t size) override {
    HB_ASSIGN_OR_RETURN(const Descriptor fd, Open(path, O_WRONLY, "opening"));
    HB_ASSIGN_OR_RETURN(const uint64_t present, SizeOf(fd.get(), path));
    if (size > present) {
      return absl::OutOfRangeError(
          absl::StrCat("truncating '", path, "' to ", size, " bytes: it has only ", present));
    }
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return LastError("truncating", path);
    if (::fsync(fd.get()) != 0) return LastError("syncing", path);
    return absl::OkStatus();
  }

  Status RewriteInPlace(const std::string& path, uint64_t offset) override {
    HB_ASSIGN_OR_RETURN(const Descriptor fd, Open(path, O_RDWR, "opening"));
    std::string chunk;
    while (true) {
      HB_RETURN_IF_ERROR(ReadAt(fd.get(), path, offset, kRewriteChunkBytes, &chunk));
      if (chunk.empty()) break;
      size_t done = 0;
      while (done < chunk.size()) {
        const ssize_t n = ::pwrite(fd.get(), chunk.data() + done, chunk.size() - done,
                                   static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return LastError("writing", path);
        done += static_cast<size_t>(n);
      }
      offset += chunk.size();
    }
    if (::fsync(fd.get()) != 0) return LastError("syncing", path);
    return absl::OkStatus();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return LastError(absl::StrCat("renaming '", from, "' to"), to);
  }

  Status Remove(const std::string& path) override {
    if (std::remove(path.c_str()) == 0) return absl::OkStatus();
    return LastError("removing", path);
  }

  Status CreateDirectories(const std::string& path) override {
    if (path.empty() || path == "/" || path == ".") return absl::OkStatus();
    if (path.back() == '/') return CreateDirectories(path.substr(0, path.size() - 1));
    struct stat info;
    if (::stat(path.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) return absl::OkStatus();
      return ErrnoStatus(ENOTDIR, absl::StrCat("creating directory '", path, "'"));
    }
    const std::string parent = ParentOf(path);
    HB_RETURN_IF_ERROR(CreateDirectories(parent));
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      return LastError("creating directory", path);
    }
    return SyncDirectory(parent);
  }

  Status SyncDirectory(const std::string& path) override {
    HB_ASSIGN_OR_RETURN(const Descriptor fd, Open(path, O_RDONLY | O_DIRECTORY, "opening"));
    if (::fsync(fd.get()) != 0) return LastError("syncing directory", path);
    return absl::OkStatus();
  }

  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (directory == nullptr) return LastError("listing", path);
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr && errno != 0) return LastError("listing", path);
      if (entry == nullptr) return names;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
  }

  bool Exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    HB_ASSIGN_OR_RETURN(Descriptor fd, Open(path, O_RDWR | O_CREAT, "opening"));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      return std::make_unique<PosixFileLock>(std::move(fd));
    }
    if (errno != EWOULDBLOCK) return LastError("locking", path);
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' is locked by another process"));
  }
};

}  // namespace

FileSystem* FileSystem::Posix() {
  static PosixFileSystem* const posix = new PosixFileSystem;
  return posix;
}

}  // namespace hornbeam
