#include "connectors/files/store/faulty_file_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {

class FaultyFileStore::FaultyNewFile final : public NewFile {
 public:
  FaultyNewFile(FaultyFileStore* faulty, std::string path, std::unique_ptr<NewFile> file)
      : faulty_(faulty), path_(std::move(path)), file_(std::move(file)) {}
  Status Append(std::string_view bytes) override {
    HB_RETURN_IF_ERROR(faulty_->Perhaps(path_));
    return file_->Append(bytes);
  }
  Status Commit() override {
    if (const Status fault = faulty_->Perhaps(path_); !fault.ok()) {
      if (faulty_->Below(2) == 0) HB_RETURN_IF_ERROR(file_->Commit());
      return fault;
    }
    return file_->Commit();
  }

 private:
  FaultyFileStore* const faulty_;
  const std::string path_;
  const std::unique_ptr<NewFile> file_;
};

class FaultyFileStore::ShortReads final : public ByteSource {
 public:
  ShortReads(FaultyFileStore* faulty, std::string path, std::unique_ptr<ByteSource> source)
      : faulty_(faulty), path_(std::move(path)), source_(std::move(source)) {}
  StatusOr<size_t> Read(char* to, size_t size) override {
    if (faulty_->Below(kReadsPerCall) == 0) HB_RETURN_IF_ERROR(faulty_->Perhaps(path_));
    return source_->Read(to, 1 + faulty_->Below(std::min<size_t>(size, 7)));
  }

 private:
  // A file is read in many pieces: they fail so much more seldom than other calls.
  static constexpr uint64_t kReadsPerCall = 20;

  FaultyFileStore* const faulty_;
  const std::string path_;
  const std::unique_ptr<ByteSource> source_;
};

Status FaultyFileStore::Perhaps(const std::string& path) {
  MutexLock lock(&mutex_);
  if (one_in_ == 0 || !rng_.OneIn(one_in_)) return absl::OkStatus();
  ++faults_;
  return absl::UnavailableError(absl::StrCat("'", path, "': the store is away"));
}

uint64_t FaultyFileStore::Below(uint64_t n) {
  MutexLock lock(&mutex_);
  return rng_.Below(n);
}

StatusOr<std::unique_ptr<ByteSource>> FaultyFileStore::OpenForRead(const std::string& path,
                                                                   uint64_t offset) {
  HB_RETURN_IF_ERROR(Perhaps(path));
  HB_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, store_->OpenForRead(path, offset));
  return std::make_unique<ShortReads>(this, path, std::move(source));
}

StatusOr<std::vector<io::FileMetadata>> FaultyFileStore::List(const FilePattern& pattern) {
  HB_RETURN_IF_ERROR(Perhaps(pattern.text()));
  return store_->List(pattern);
}

StatusOr<std::unique_ptr<NewFile>> FaultyFileStore::Create(const std::string& path,
                                                           IfExists if_exists) {
  HB_RETURN_IF_ERROR(Perhaps(path));
  HB_ASSIGN_OR_RETURN(std::unique_ptr<NewFile> file, store_->Create(path, if_exists));
  return std::make_unique<FaultyNewFile>(this, path, std::move(file));
}

Status FaultyFileStore::Delete(const std::string& path) {
  HB_RETURN_IF_ERROR(Perhaps(path));
  return store_->Delete(path);
}

}  // namespace hornbeam::connectors
