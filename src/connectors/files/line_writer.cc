#include "connectors/files/line_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::connectors {
namespace {

constexpr uint64_t kScanBytes = 64 << 10;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string LineWriter::EncodeState() const {
  std::string state;
  PutVarint(&state, confirmed_bytes_);
  state.push_back(mode_ == engine::ProcessingMode::kAtLeastOnce ? 1 : 0);
  return state;
}

Status LineWriter::Create() {
  HB_ASSIGN_OR_RETURN(file_, fs_->Create(path_));
  // The name, and that the file is empty: what stood there before must not come back with a crash.
  HB_RETURN_IF_ERROR(file_->Sync());
  HB_RETURN_IF_ERROR(fs_->SyncDirectory(ParentOf(path_)));
  return journal_->Save(EncodeState());
}

StatusOr<uint64_t> LineWriter::EndOfLines(const RandomAccessFile& file, uint64_t size) const {
  std::string chunk;
  while (size > confirmed_bytes_) {
    const uint64_t start = size - std::min(size - confirmed_bytes_, kScanBytes);
    HB_RETURN_IF_ERROR(file.Read(start, static_cast<size_t>(size - start), &chunk));
    if (const size_t newline = chunk.rfind('\n'); newline != std::string::npos) {
      return start + newline + 1;
    }
    size = start;
  }
  return confirmed_bytes_;
}

Status LineWriter::Open(engine::SinkJournal* journal, std::string_view state) {
  journal_ = journal;
  if (state.empty()) return Create();
  ByteReader in(state);
  confirmed_bytes_ = in.Varint();
  const uint8_t repeats = in.Byte();
  if (!in.ok() || !in.done() || repeats > 1) {
    return absl::DataLossError(absl::StrCat("malformed state of the writer of '", path_, "'"));
  }
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> written, fs_->OpenForRead(path_));
  HB_ASSIGN_OR_RETURN(const uint64_t size, written->Size());
  if (size < confirmed_bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path_, "' has ", size, " bytes and the job had written ",
                     confirmed_bytes_,
                     "; put the file back, or start the job with a new state directory"));
  }
  // The mode that counts is the one in which the tail was written.
  if (repeats == 1) {
    HB_ASSIGN_OR_RETURN(const uint64_t end, EndOfLines(*written, size));
    // Bytes that can be read may still not be on disk, where a sync had failed.
    HB_RETURN_IF_ERROR(fs_->RewriteInPlace(path_, confirmed_bytes_));
    confirmed_bytes_ = end;
  }
  HB_RETURN_IF_ERROR(fs_->Truncate(path_, confirmed_bytes_));
  HB_ASSIGN_OR_RETURN(file_, fs_->OpenForAppend(path_));
  if (EncodeState().back() == state.back()) return absl::OkStatus();
  return journal_->Save(EncodeState());
}

Status LineWriter::Deliver(const engine::Delivery& delivery) {
  buffer_.clear();
  for (std::string_view row : delivery.rows) {
    buffer_.append(row);
    buffer_.push_back('\n');
  }
  HB_RETURN_IF_ERROR(file_->Append(buffer_));
  HB_RETURN_IF_ERROR(file_->Sync());
  confirmed_bytes_ += buffer_.size();
  journal_->Remember(EncodeState());
  return absl::OkStatus();
}

}  // namespace hornbeam::connectors
