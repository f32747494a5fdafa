#include "connectors/files/line_writer.h"

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::connectors {

std::string LineWriter::EncodeState() const {
  std::string state;
  PutVarint(&state, confirmed_bytes_);
  return state;
}

Status LineWriter::Open(engine::SinkJournal* journal, std::string_view state) {
  journal_ = journal;
  if (state.empty()) {
    HB_ASSIGN_OR_RETURN(file_, fs_->Create(path_));
    return journal_->Save(EncodeState());
  }
  ByteReader in(state);
  confirmed_bytes_ = in.Varint();
  if (!in.ok()) return absl::DataLossError(absl::StrCat("malformed state of the writer of '", path_, "'"));
  HB_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> written, fs_->OpenForRead(path_));
  HB_ASSIGN_OR_RETURN(const uint64_t size, written->Size());
  if (size < confirmed_bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path_, "' has ", size, " bytes and the job had written ", confirmed_bytes_,
                     "; put the file back, or start the job with a new state directory"));
  }
  HB_RETURN_IF_ERROR(fs_->Truncate(path_, confirmed_bytes_));
  HB_ASSIGN_OR_RETURN(file_, fs_->OpenForAppend(path_));
  return absl::OkStatus();
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
