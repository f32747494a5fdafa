#include "connectors/files/read/byte_window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "connectors/files/compression/decompress.h"

namespace hornbeam::connectors {
namespace {

constexpr size_t kFirstBytes = 64 << 10;

}  // namespace

Status ByteWindow::Open(FileStore* store, const FilePart& part, uint64_t offset) {
  const bool seeks = part.compression == io::Compression::kUncompressed;
  path_ = part.file.path;
  HB_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> bytes,
                      store->OpenForRead(path_, seeks ? offset : 0));
  content_ = Decompress(std::move(bytes), part.compression, path_);
  if (!seeks) {
    const Status skipped = SkipBytes(*content_, offset);
    if (absl::IsOutOfRange(skipped))
      return Annotate(skipped, absl::StrCat("'", path_, "' became shorter while it was read"));
    HB_RETURN_IF_ERROR(skipped);
  }
  buffer_.clear();
  next_ = 0;
  offset_ = offset;
  at_end_ = false;
  return absl::OkStatus();
}

StatusOr<bool> ByteWindow::Grow() {
  if (at_end_) return false;
  buffer_.erase(0, next_);
  offset_ += next_;
  next_ = 0;
  // As much again as there is: a long record is copied a few times, not once for each piece.
  const size_t had = buffer_.size();
  buffer_.resize(had + std::max(had, kFirstBytes));
  HB_ASSIGN_OR_RETURN(const size_t got, content_->Read(buffer_.data() + had, buffer_.size() - had));
  buffer_.resize(had + got);
  at_end_ = got == 0;
  return got > 0;
}

}  // namespace hornbeam::connectors
