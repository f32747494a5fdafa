#include "connectors/files/line_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "model/slice.h"

namespace hornbeam::connectors {

using engine::Polled;
using model::Slice;

Status LineReader::Open(const engine::ReaderContext& context) {
  block_ = context.split;
  HB_ASSIGN_OR_RETURN(file_, fs_->OpenForRead(path_));
  HB_ASSIGN_OR_RETURN(file_bytes_, file_->Size());
  return absl::OkStatus();
}

Status LineReader::Restore(bool replaces, std::string_view payload) {
  ByteReader in(payload);
  const uint64_t splits = in.Varint();
  const uint64_t block_bytes = in.Varint();
  block_ = in.Varint();
  resume_at_ = in.Varint();
  if (!in.ok()) return absl::DataLossError(absl::StrCat("malformed position in '", path_, "'"));
  if (splits != splits_ || block_bytes != block_bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the job began to read '", path_, "' with ", splits, " workers and has ", splits_,
                     " now; start it with ", splits, " workers, or with a new state directory"));
  }
  if (resume_at_ > file_bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path_, "' has ", file_bytes_, " bytes and the job had read ", resume_at_,
                     "; put the file back, or start the job with a new state directory"));
  }
  return absl::OkStatus();
}

std::shared_ptr<std::string> LineReader::TakeBuffer() {
  for (const std::shared_ptr<std::string>& buffer : pool_) {
    // One owner, the pool: whoever had it besides is done, and what he did to it happened before.
    if (buffer.use_count() == 1) {
      std::atomic_thread_fence(std::memory_order_acquire);
      return buffer;
    }
  }
  pool_.push_back(std::make_shared<std::string>());
  return pool_.back();
}

// From `start` to the end of the line that is under way at `end`, and padding.
Status LineReader::ReadPastBlock(std::string* buffer, uint64_t start, uint64_t end) {
  size_t beyond = 4096;
  while (true) {
    const size_t wanted = static_cast<size_t>(std::min(end + beyond, file_bytes_) - start);
    HB_RETURN_IF_ERROR(file_->Read(start, wanted, buffer));
    if (buffer->size() < wanted) {
      return absl::DataLossError(absl::StrCat("'", path_, "' became shorter while it was being read"));
    }
    const size_t line_end = buffer->find('\n', static_cast<size_t>(end - 1 - start));
    if (line_end != std::string::npos || start + wanted == file_bytes_) {
      end_ = line_end == std::string::npos ? wanted : line_end + 1;
      return absl::OkStatus();
    }
    beyond *= 4;
  }
}

StatusOr<bool> LineReader::LoadBlock() {
  if (BlockStart() >= file_bytes_) return false;
  const uint64_t block_end = std::min(BlockStart() + block_bytes_, file_bytes_);
  // From the byte before it: a line starts in the block when a newline stands before it.
  buffer_start_ = BlockStart() == 0 ? 0 : BlockStart() - 1;
  buffer_ = TakeBuffer();
  HB_RETURN_IF_ERROR(ReadPastBlock(buffer_.get(), buffer_start_, block_end));
  buffer_->append(kPadding, '\0');
  if (resume_at_ > 0) {
    next_ = static_cast<size_t>(resume_at_ - buffer_start_);
  } else if (BlockStart() == 0) {
    next_ = 0;
  } else {
    const size_t newline = buffer_->find('\n');
    next_ = newline == std::string::npos ? end_ : newline + 1;
  }
  next_ = std::min(next_, end_);
  return true;
}

void LineReader::NextBlock() {
  block_ += splits_;
  resume_at_ = 0;
  buffer_ = nullptr;
}

StatusOr<Polled> LineReader::Poll(size_t max_elements) {
  Polled polled;
  polled.state = Polled::State::kFinished;
  if (drained_) return polled;
  while (buffer_ == nullptr || next_ >= end_) {
    if (buffer_ != nullptr) NextBlock();
    HB_ASSIGN_OR_RETURN(const bool loaded, LoadBlock());
    if (!loaded) return polled;
  }
  auto batch = std::make_unique<engine::TypedBatch<Slice>>();
  batch->Reserve(max_elements);
  batch->windows.SetUniform(model::Window::Global());
  const char* const base = buffer_->data();
  const char* at = base + next_;
  const char* const end = base + end_;
  while (at < end && batch->values.size() < max_elements) {
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    const char* const line_end = newline == nullptr ? end : newline;
    batch->values.push_back({at, static_cast<size_t>(line_end - at), static_cast<size_t>(base + buffer_->size() - line_end)});
    at = newline == nullptr ? end : newline + 1;
  }
  batch->timestamps.assign(batch->values.size(), model::EventTime::Min());
  batch->owner = buffer_;
  next_ = static_cast<size_t>(at - base);
  resume_at_ = buffer_start_ + next_;
  bytes_left_.store(static_cast<int64_t>((file_bytes_ - std::min(resume_at_, file_bytes_)) / splits_), std::memory_order_relaxed);
  polled.state = Polled::State::kData;
  polled.batch = std::move(batch);
  return polled;
}

Status LineReader::OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) { return Rewrite(records); }

Status LineReader::Rewrite(engine::ReaderRecords* records) {
  std::string position;
  PutVarint(&position, splits_);
  PutVarint(&position, block_bytes_);
  PutVarint(&position, block_);
  PutVarint(&position, resume_at_);
  records->Add(true, position);
  return absl::OkStatus();
}

engine::Backlog LineReader::GetBacklog() const {
  engine::Backlog backlog;
  backlog.bytes = bytes_left_.load(std::memory_order_relaxed);
  return backlog;
}

}  // namespace hornbeam::connectors
