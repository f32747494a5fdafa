#include "connectors/files/store/local_file_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

constexpr char kNewSuffix[] = ".hornbeam-new";
constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kCompareBytes = 1 << 20;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameWhileNew(const std::string& path) {
  const size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  return absl::StrCat(path.substr(0, name), ".", path.substr(name), kNewSuffix);
}

bool IsNameWhileNew(std::string_view name) {
  return name.starts_with('.') && name.ends_with(kNewSuffix);
}

class LocalByteSource final : public ByteSource {
 public:
  LocalByteSource(std::unique_ptr<RandomAccessFile> file, uint64_t offset)
      : file_(std::move(file)), offset_(offset) {}

  StatusOr<size_t> Read(char* to, size_t size) override {
    if (next_ == buffer_.size()) {
      HB_RETURN_IF_ERROR(file_->Read(offset_, kReadBytes, &buffer_));
      offset_ += buffer_.size();
      next_ = 0;
    }
    const size_t got = std::min(size, buffer_.size() - next_);
    std::memcpy(to, buffer_.data() + next_, got);
    next_ += got;
    return got;
  }

 private:
  const std::unique_ptr<RandomAccessFile> file_;
  uint64_t offset_;  // of what follows the buffer
  std::string buffer_;
  size_t next_ = 0;
};

class LocalNewFile final : public NewFile {
 public:
  LocalNewFile(FileSystem* fs, std::string path, IfExists if_exists,
               std::unique_ptr<WritableFile> file)
      : fs_(fs),
        path_(std::move(path)),
        new_path_(NameWhileNew(path_)),
        if_exists_(if_exists),
        file_(std::move(file)) {}
  ~LocalNewFile() override {
    if (file_ == nullptr) return;
    file_ = nullptr;
    fs_->Remove(new_path_).IgnoreError();  // what stays is not seen, and is overwritten
  }

  Status Append(std::string_view bytes) override { return file_->Append(bytes); }

  Status Commit() override {
    HB_RETURN_IF_ERROR(file_->Sync());
    HB_RETURN_IF_ERROR(file_->Close());
    if (if_exists_ == IfExists::kMustBeSame && fs_->Exists(path_)) {
      HB_ASSIGN_OR_RETURN(const bool same, IsSame());
      if (!same) {
        return absl::AlreadyExistsError(
            absl::StrCat("'", path_,
                         "' exists with other content; move it away, write to another place, or "
                         "allow files to be replaced"));
      }
      HB_RETURN_IF_ERROR(fs_->Remove(new_path_));
    } else {
      HB_RETURN_IF_ERROR(fs_->Rename(new_path_, path_));
    }
    file_ = nullptr;
    return fs_->SyncDirectory(ParentOf(path_));
  }

 private:
  StatusOr<bool> IsSame() const {
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> present, fs_->OpenForRead(path_));
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> wanted,
                        fs_->OpenForRead(new_path_));
    std::string a, b;
    for (uint64_t offset = 0;; offset += a.size()) {
      HB_RETURN_IF_ERROR(present->Read(offset, kCompareBytes, &a));
      HB_RETURN_IF_ERROR(wanted->Read(offset, kCompareBytes, &b));
      if (a != b) return false;
      if (a.empty()) return true;
    }
  }

  FileSystem* const fs_;
  const std::string path_;
  const std::string new_path_;
  const IfExists if_exists_;
  std::unique_ptr<WritableFile> file_;  // null: it has its final name, or is gone
};

}  // namespace

StatusOr<LocalFileStore::Entry> LocalFileStore::Look(const std::string& path) const {
  Entry entry;
  entry.metadata.path = path;
  if (fs_ == FileSystem::Posix()) {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      const int error = errno;
      return ErrnoStatus(error, absl::StrCat("looking at '", path, "'"));
    }
    entry.is_directory = S_ISDIR(info.st_mode);
    entry.metadata.size_bytes = static_cast<uint64_t>(info.st_size);
    entry.metadata.modified_us = info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1000;
  } else if (fs_->List(path).ok()) {
    entry.is_directory = true;
  } else {
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs_->OpenForRead(path));
    HB_ASSIGN_OR_RETURN(entry.metadata.size_bytes, file->Size());
  }
  entry.metadata.etag = absl::StrCat(entry.metadata.size_bytes, "-", entry.metadata.modified_us);
  return entry;
}

StatusOr<std::unique_ptr<ByteSource>> LocalFileStore::OpenForRead(const std::string& path,
                                                                  uint64_t offset) {
  HB_ASSIGN_OR_RETURN(const Entry entry, Look(path));
  if (entry.is_directory)
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is a directory, not a file"));
  HB_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs_->OpenForRead(path));
  return std::make_unique<LocalByteSource>(std::move(file), offset);
}

Status LocalFileStore::Walk(const FilePattern& pattern, const std::string& directory,
                            const std::string& prefix, std::vector<io::FileMetadata>* files) const {
  HB_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_->List(directory));
  for (const std::string& name : names) {
    if (IsNameWhileNew(name)) continue;
    const std::string path = prefix + name;
    const bool matches = pattern.Matches(path);
    if (!matches && !pattern.CanMatchBelow(path)) continue;
    StatusOr<Entry> entry = Look(path);
    if (absl::IsNotFound(entry.status())) continue;  // removed meanwhile, or a link to nowhere
    HB_RETURN_IF_ERROR(entry.status());
    if (!entry->is_directory) {
      if (matches) files->push_back(std::move(entry->metadata));
    } else if (pattern.CanMatchBelow(path)) {
      HB_RETURN_IF_ERROR(Walk(pattern, path, path + "/", files));
    }
  }
  return absl::OkStatus();
}

StatusOr<std::vector<io::FileMetadata>> LocalFileStore::List(const FilePattern& pattern) {
  std::vector<io::FileMetadata> files;
  if (pattern.is_literal()) {
    StatusOr<Entry> entry = Look(pattern.prefix());
    if (absl::IsNotFound(entry.status())) return files;
    HB_RETURN_IF_ERROR(entry.status());
    if (!entry->is_directory) files.push_back(std::move(entry->metadata));
    return files;
  }
  const std::string directory = pattern.directory();
  if (!fs_->Exists(directory)) return files;
  HB_RETURN_IF_ERROR(Walk(pattern, directory,
                          pattern.prefix().substr(0, pattern.prefix().rfind('/') + 1), &files));
  std::sort(files.begin(), files.end(),
            [](const io::FileMetadata& a, const io::FileMetadata& b) { return a.path < b.path; });
  return files;
}

StatusOr<std::unique_ptr<NewFile>> LocalFileStore::Create(const std::string& path,
                                                          IfExists if_exists) {
  HB_RETURN_IF_ERROR(fs_->CreateDirectories(ParentOf(path)));
  HB_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, fs_->Create(NameWhileNew(path)));
  return std::make_unique<LocalNewFile>(fs_, path, if_exists, std::move(file));
}

Status LocalFileStore::Delete(const std::string& path) {
  const Status status = fs_->Remove(path);
  if (absl::IsNotFound(status)) return absl::OkStatus();
  HB_RETURN_IF_ERROR(status);
  return fs_->SyncDirectory(ParentOf(path));
}

}  // namespace hornbeam::connectors
