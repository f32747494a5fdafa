#include "base/memory_file_system.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam {
namespace {

constexpr size_t kSectorBytes = 512;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string WithoutTrailingSlash(const std::string& path) {
  return path.size() > 1 && path.back() == '/' ? path.substr(0, path.size() - 1) : path;
}

Status PowerWasCut(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("'", path, "' was opened before the power was cut"));
}

}  // namespace

class MemoryFileSystem::OpenWritable final : public WritableFile {
 public:
  OpenWritable(MemoryFileSystem* fs, std::string path, InodePtr inode, uint64_t generation)
      : fs_(fs),
        path_(std::move(path)),
        inode_(std::move(inode)),
        generation_(generation),
        size_(inode_->bytes.size()) {}

  // As on POSIX, the first failure is the file's last word.
  Status Append(std::string_view data) override {
    HB_RETURN_IF_ERROR(failure_);
    failure_ = fs_->Append(inode_.get(), path_, generation_, data);
    if (failure_.ok()) size_ += data.size();
    return failure_;
  }
  Status Sync() override {
    HB_RETURN_IF_ERROR(failure_);
    return failure_ = fs_->Sync(inode_.get(), path_, generation_);
  }
  Status Close() override {
    HB_RETURN_IF_ERROR(failure_);
    failure_ = absl::FailedPreconditionError(absl::StrCat("'", path_, "' is closed"));
    return absl::OkStatus();
  }
  uint64_t size() const override { return size_; }

 private:
  MemoryFileSystem* const fs_;
  const std::string path_;
  const InodePtr inode_;
  const uint64_t generation_;
  uint64_t size_;
  Status failure_;
};

class MemoryFileSystem::OpenReadable final : public RandomAccessFile {
 public:
  OpenReadable(MemoryFileSystem* fs, InodePtr inode) : fs_(fs), inode_(std::move(inode)) {}

  Status Read(uint64_t offset, size_t size, std::string* out) const override {
    MutexLock lock(&fs_->mutex_);
    HB_RETURN_IF_ERROR(fs_->Step(FileOperation::kRead));
    out->clear();
    if (offset < inode_->bytes.size()) out->assign(inode_->bytes, offset, size);
    return absl::OkStatus();
  }
  StatusOr<uint64_t> Size() const override {
    MutexLock lock(&fs_->mutex_);
    return inode_->bytes.size();
  }

 private:
  MemoryFileSystem* const fs_;
  const InodePtr inode_;
};

class MemoryFileSystem::HeldLock final : public FileLock {
 public:
  HeldLock(MemoryFileSystem* fs, std::string path, uint64_t generation)
      : fs_(fs), path_(std::move(path)), generation_(generation) {}
  ~HeldLock() override {
    MutexLock lock(&fs_->mutex_);
    if (generation_ == fs_->generation_) fs_->locked_.erase(path_);
  }

 private:
  MemoryFileSystem* const fs_;
  const std::string path_;
  const uint64_t generation_;
};

void MemoryFileSystem::DropUnsynced() { DropUnsynced(nullptr); }

void MemoryFileSystem::DropUnsynced(Rng* rng) {
  MutexLock lock(&mutex_);
  const size_t kept_changes = rng == nullptr ? 0 : rng->Below(unsynced_names_.size() + 1);
  for (size_t i = 0; i < kept_changes; ++i) {
    for (auto& [path, inode] : unsynced_names_[i].entries) {
      if (inode == nullptr) {
        durable_files_.erase(path);
      } else {
        durable_files_[path] = inode;
      }
    }
  }
  unsynced_names_.clear();

  // Fresh inodes, so that files opened before hold none of what lives on.
  std::map<const Inode*, InodePtr> survivors;
  for (auto& [path, inode] : durable_files_) {
    InodePtr& survivor = survivors[inode.get()];
    if (survivor == nullptr) {
      survivor = std::make_shared<Inode>();
      if (inode->before_emptying != nullptr && (rng == nullptr || rng->OneIn(2))) {
        survivor->bytes = *inode->before_emptying;
      } else {
        size_t kept = inode->synced_bytes;
        if (rng != nullptr) kept += rng->Below(inode->bytes.size() - kept + 1);
        survivor->bytes = inode->bytes.substr(0, kept);
        for (size_t at = inode->synced_bytes; rng != nullptr && at < kept;) {
          const size_t end = std::min(kept, (at / kSectorBytes + 1) * kSectorBytes);
          if (rng->OneIn(8)) std::fill(&survivor->bytes[at], survivor->bytes.data() + end, '\0');
          at = end;
        }
      }
      survivor->synced_bytes = survivor->bytes.size();
    }
    inode = survivor;
  }
  files_ = durable_files_;
  locked_.clear();
  ++generation_;
}

void MemoryFileSystem::FailNth(FileOperation operation, uint64_t nth, Status error) {
  MutexLock lock(&mutex_);
  HB_CHECK(nth > 0 && !error.ok());
  faults_.push_back({operation, counts_[static_cast<size_t>(operation)] + nth, std::move(error)});
}

void MemoryFileSystem::ClearFaults() {
  MutexLock lock(&mutex_);
  faults_.clear();
}

uint64_t MemoryFileSystem::Count(FileOperation operation) const {
  MutexLock lock(&mutex_);
  return counts_[static_cast<size_t>(operation)];
}

void MemoryFileSystem::SetCapacity(uint64_t bytes) {
  MutexLock lock(&mutex_);
  capacity_ = bytes;
}

uint64_t MemoryFileSystem::UsedBytes() const {
  MutexLock lock(&mutex_);
  return UsedLocked();
}

void MemoryFileSystem::Overwrite(const std::string& path, uint64_t offset, std::string_view bytes) {
  MutexLock lock(&mutex_);
  const auto file = files_.find(path);
  HB_CHECK(file != files_.end() && offset + bytes.size() <= file->second->bytes.size());
  file->second->bytes.replace(offset, bytes.size(), bytes);
}

StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::Create(const std::string& path) {
  MutexLock lock(&mutex_);
  return CreateLocked(path);
}

StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::OpenForAppend(const std::string& path) {
  MutexLock lock(&mutex_);
  const auto file = files_.find(path);
  if (file == files_.end()) return CreateLocked(path);
  return std::make_unique<OpenWritable>(this, path, file->second, generation_);
}

StatusOr<std::unique_ptr<RandomAccessFile>> MemoryFileSystem::OpenForRead(const std::string& path) {
  MutexLock lock(&mutex_);
  HB_ASSIGN_OR_RETURN(InodePtr inode, Find(path));
  return std::make_unique<OpenReadable>(this, std::move(inode));
}

Status MemoryFileSystem::Truncate(const std::string& path, uint64_t size) {
  MutexLock lock(&mutex_);
  HB_RETURN_IF_ERROR(Step(FileOperation::kTruncate));
  HB_ASSIGN_OR_RETURN(const InodePtr inode, Find(path));
  if (size > inode->bytes.size()) {
    return absl::OutOfRangeError(absl::StrCat("truncating '", path, "' to ", size,
                                              " bytes: it has only ", inode->bytes.size()));
  }
  inode->bytes.resize(size);
  inode->synced_bytes = std::min(inode->synced_bytes, inode->bytes.size());
  inode->before_emptying.reset();
  return absl::OkStatus();
}

Status MemoryFileSystem::RewriteInPlace(const std::string& path, uint64_t offset) {
  MutexLock lock(&mutex_);
  HB_RETURN_IF_ERROR(Step(FileOperation::kRewriteInPlace));
  HB_ASSIGN_OR_RETURN(const InodePtr inode, Find(path));
  // What was lost before `offset` stays lost.
  if (inode->lost_tail && offset > inode->synced_bytes) return absl::OkStatus();
  inode->synced_bytes = inode->bytes.size();
  inode->lost_tail = false;
  inode->before_emptying.reset();
  return absl::OkStatus();
}

Status MemoryFileSystem::Rename(const std::string& from, const std::string& to) {
  MutexLock lock(&mutex_);
  HB_RETURN_IF_ERROR(Step(FileOperation::kRename));
  HB_ASSIGN_OR_RETURN(InodePtr inode, Find(from));
  HB_RETURN_IF_ERROR(CheckParent(to));
  if (from != to) ChangeNames({{{from, nullptr}, {to, std::move(inode)}}});
  return absl::OkStatus();
}

Status MemoryFileSystem::Remove(const std::string& path) {
  MutexLock lock(&mutex_);
  HB_RETURN_IF_ERROR(Step(FileOperation::kRemove));
  if (directories_.contains(path)) {
    const std::string prefix = path + "/";
    const auto file = files_.lower_bound(prefix);
    const auto directory = directories_.lower_bound(prefix);
    if ((file != files_.end() && file->first.starts_with(prefix)) ||
        (directory != directories_.end() && directory->starts_with(prefix))) {
      return ErrnoStatus(ENOTEMPTY, absl::StrCat("removing '", path, "'"));
    }
    directories_.erase(path);
    return absl::OkStatus();
  }
  HB_RETURN_IF_ERROR(Find(path).status());
  ChangeNames({{{path, nullptr}}});
  return absl::OkStatus();
}

Status MemoryFileSystem::CreateDirectories(const std::string& path) {
  MutexLock lock(&mutex_);
  for (std::string at = WithoutTrailingSlash(path); !directories_.contains(at); at = ParentOf(at)) {
    if (files_.contains(at)) {
      return ErrnoStatus(ENOTDIR, absl::StrCat("creating directory '", at, "'"));
    }
    directories_.insert(at);
  }
  return absl::OkStatus();
}

Status MemoryFileSystem::SyncDirectory(const std::string& path) {
  MutexLock lock(&mutex_);
  HB_RETURN_IF_ERROR(Step(FileOperation::kSyncDirectory));
  const std::string directory = WithoutTrailingSlash(path);
  if (!directories_.contains(directory)) {
    return ErrnoStatus(ENOENT, absl::StrCat("opening '", path, "'"));
  }
  for (auto entry = durable_files_.begin(); entry != durable_files_.end();) {
    const bool removed = ParentOf(entry->first) == directory && !files_.contains(entry->first);
    entry = removed ? durable_files_.erase(entry) : std::next(entry);
  }
  for (const auto& [name, inode] : files_) {
    if (ParentOf(name) == directory) durable_files_[name] = inode;
  }
  for (NameChange& change : unsynced_names_) {
    std::erase_if(change.entries,
                  [&](const auto& entry) { return ParentOf(entry.first) == directory; });
  }
  std::erase_if(unsynced_names_, [](const NameChange& change) { return change.entries.empty(); });
  return absl::OkStatus();
}

StatusOr<std::vector<std::string>> MemoryFileSystem::List(const std::string& path) {
  MutexLock lock(&mutex_);
  const std::string directory = WithoutTrailingSlash(path);
  if (!directories_.contains(directory)) {
    return ErrnoStatus(ENOENT, absl::StrCat("listing '", path, "'"));
  }
  std::vector<std::string> names;
  const auto add = [&](const std::string& entry) {
    if (entry.empty() || entry == "." || entry == "/" || ParentOf(entry) != directory) return;
    names.push_back(entry.substr(entry.rfind('/') + 1));
  };
  for (const auto& [name, inode] : files_) add(name);
  for (const std::string& name : directories_) add(name);
  return names;
}

bool MemoryFileSystem::Exists(const std::string& path) {
  MutexLock lock(&mutex_);
  return files_.contains(path) || directories_.contains(WithoutTrailingSlash(path));
}

StatusOr<std::unique_ptr<FileLock>> MemoryFileSystem::Lock(const std::string& path) {
  MutexLock lock(&mutex_);
  HB_RETURN_IF_ERROR(CheckParent(path));
  if (!locked_.insert(path).second) {
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' is locked by another process"));
  }
  if (!files_.contains(path)) ChangeNames({{{path, std::make_shared<Inode>()}}});
  return std::make_unique<HeldLock>(this, path, generation_);
}

Status MemoryFileSystem::Step(FileOperation operation) {
  const uint64_t count = ++counts_[static_cast<size_t>(operation)];
  const auto fault = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& f) {
    return f.operation == operation && f.at == count;
  });
  if (fault == faults_.end()) return absl::OkStatus();
  Status error = std::move(fault->error);
  faults_.erase(fault);
  return error;
}

Status MemoryFileSystem::CheckParent(const std::string& path) const {
  if (directories_.contains(path)) return ErrnoStatus(EISDIR, absl::StrCat("opening '", path, "'"));
  if (directories_.contains(ParentOf(path))) return absl::OkStatus();
  return ErrnoStatus(ENOENT, absl::StrCat("opening '", path, "'"));
}

StatusOr<MemoryFileSystem::InodePtr> MemoryFileSystem::Find(const std::string& path) const {
  const auto file = files_.find(path);
  if (file == files_.end()) return ErrnoStatus(ENOENT, absl::StrCat("opening '", path, "'"));
  return file->second;
}

StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::CreateLocked(const std::string& path) {
  HB_RETURN_IF_ERROR(Step(FileOperation::kCreate));
  HB_RETURN_IF_ERROR(CheckParent(path));
  const auto file = files_.find(path);
  InodePtr inode;
  if (file == files_.end()) {
    inode = std::make_shared<Inode>();
    ChangeNames({{{path, inode}}});
  } else {
    inode = file->second;
    if (inode->before_emptying == nullptr) {
      inode->before_emptying =
          std::make_unique<std::string>(inode->bytes.substr(0, inode->synced_bytes));
    }
    inode->bytes.clear();
    inode->synced_bytes = 0;
    inode->lost_tail = false;
  }
  return std::make_unique<OpenWritable>(this, path, std::move(inode), generation_);
}

void MemoryFileSystem::ChangeNames(NameChange change) {
  for (const auto& [path, inode] : change.entries) {
    if (inode == nullptr) {
      files_.erase(path);
    } else {
      files_[path] = inode;
    }
  }
  unsynced_names_.push_back(std::move(change));
}

uint64_t MemoryFileSystem::UsedLocked() const {
  uint64_t used = 0;
  for (const auto& [path, inode] : files_) used += inode->bytes.size();
  return used;
}

Status MemoryFileSystem::Append(Inode* inode, const std::string& path, uint64_t generation,
                                std::string_view data) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return PowerWasCut(path);
  if (Status error = Step(FileOperation::kAppend); !error.ok()) {
    inode->bytes.append(data.substr(0, data.size() / 2));
    return error;
  }
  if (capacity_ != UINT64_MAX) {
    const uint64_t used = UsedLocked();
    const uint64_t room = used < capacity_ ? capacity_ - used : 0;
    if (data.size() > room) {
      inode->bytes.append(data.substr(0, room));
      return ErrnoStatus(ENOSPC, absl::StrCat("writing '", path, "'"));
    }
  }
  inode->bytes.append(data);
  return absl::OkStatus();
}

Status MemoryFileSystem::Sync(Inode* inode, const std::string& path, uint64_t generation) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return PowerWasCut(path);
  if (Status error = Step(FileOperation::kSync); !error.ok()) {
    if (inode->synced_bytes < inode->bytes.size()) inode->lost_tail = true;
    return error;
  }
  if (inode->lost_tail) return absl::OkStatus();  // as Linux does: success is claimed
  inode->synced_bytes = inode->bytes.size();
  inode->before_emptying.reset();
  return absl::OkStatus();
}

}  // namespace hornbeam
