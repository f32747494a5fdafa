#include "connectors/files/store/memory_file_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

class MemoryByteSource final : public ByteSource {
 public:
  MemoryByteSource(std::shared_ptr<const std::string> content, uint64_t offset)
      : content_(std::move(content)),
        next_(static_cast<size_t>(std::min<uint64_t>(offset, content_->size()))) {}

  StatusOr<size_t> Read(char* to, size_t size) override {
    const size_t got = std::min(size, content_->size() - next_);
    std::memcpy(to, content_->data() + next_, got);
    next_ += got;
    return got;
  }

 private:
  const std::shared_ptr<const std::string> content_;
  size_t next_;
};

}  // namespace

class MemoryFileStore::Upload final : public NewFile {
 public:
  Upload(MemoryFileStore* store, std::string path, IfExists if_exists)
      : store_(store), path_(std::move(path)), if_exists_(if_exists) {}
  Status Append(std::string_view bytes) override {
    content_.append(bytes);
    return absl::OkStatus();
  }
  Status Commit() override { return store_->Commit(path_, if_exists_, std::move(content_)); }

 private:
  MemoryFileStore* const store_;
  const std::string path_;
  const IfExists if_exists_;
  std::string content_;
};

void MemoryFileStore::Put(const std::string& path, std::string content) {
  MutexLock lock(&mutex_);
  files_[path] = {std::make_shared<const std::string>(std::move(content)), ++generations_};
}

std::map<std::string, std::string> MemoryFileStore::contents() const {
  MutexLock lock(&mutex_);
  std::map<std::string, std::string> contents;
  for (const auto& [path, file] : files_) contents[path] = *file.content;
  return contents;
}

Status MemoryFileStore::Commit(const std::string& path, IfExists if_exists, std::string content) {
  MutexLock lock(&mutex_);
  const auto present = files_.find(path);
  if (present != files_.end() && if_exists == IfExists::kMustBeSame) {
    if (*present->second.content == content) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat("'", path, "' exists with other content"));
  }
  files_[path] = {std::make_shared<const std::string>(std::move(content)), ++generations_};
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<ByteSource>> MemoryFileStore::OpenForRead(const std::string& path,
                                                                   uint64_t offset) {
  MutexLock lock(&mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return absl::NotFoundError(absl::StrCat("there is no '", path, "'"));
  return std::make_unique<MemoryByteSource>(found->second.content, offset);
}

StatusOr<std::vector<io::FileMetadata>> MemoryFileStore::List(const FilePattern& pattern) {
  MutexLock lock(&mutex_);
  std::vector<io::FileMetadata> files;
  for (auto at = files_.lower_bound(pattern.prefix());
       at != files_.end() && at->first.starts_with(pattern.prefix()); ++at) {
    if (!pattern.Matches(at->first)) continue;
    files.push_back({at->first, at->second.content->size(), at->second.generation * 1'000'000,
                     absl::StrCat(at->second.generation)});
  }
  return files;
}

StatusOr<std::unique_ptr<NewFile>> MemoryFileStore::Create(const std::string& path,
                                                           IfExists if_exists) {
  return std::make_unique<Upload>(this, path, if_exists);
}

Status MemoryFileStore::Delete(const std::string& path) {
  MutexLock lock(&mutex_);
  files_.erase(path);
  return absl::OkStatus();
}

}  // namespace hornbeam::connectors
