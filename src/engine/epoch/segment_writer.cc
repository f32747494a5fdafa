#include "engine/epoch/segment_writer.h"

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

// Larger bodies go to the file without a copy.
constexpr size_t kGatherBytes = 64 << 10;

}  // namespace

StatusOr<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(FileSystem* fs,
                                                               const std::string& dir,
                                                               const SegmentHeader& header) {
  const std::string path = absl::StrCat(dir, "/", SegmentName(header.segment));
  const std::string bytes = header.Encode();
  HB_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, fs->Create(path));
  HB_RETURN_IF_ERROR(file->Append(bytes));
  HB_RETURN_IF_ERROR(file->Sync());
  HB_RETURN_IF_ERROR(fs->SyncDirectory(dir));
  return std::unique_ptr<SegmentWriter>(
      new SegmentWriter(path, std::move(file), header.salt, bytes.size()));
}

StatusOr<std::unique_ptr<SegmentWriter>> SegmentWriter::Resume(FileSystem* fs,
                                                               const std::string& path,
                                                               uint64_t salt) {
  HB_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, fs->OpenForAppend(path));
  const uint64_t size = file->size();
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(path, std::move(file), salt, size));
}

Status SegmentWriter::Append(FrameKind kind, uint64_t number, std::string_view body) {
  const FrameHeader header = {.kind = kind,
                              .body_size = static_cast<uint32_t>(body.size()),
                              .body_checksum = Checksum(body),
                              .offset = offset_,
                              .number = number,
                              .synced = synced_,
                              .salt = salt_};
  header.AppendTo(&gathered_);
  if (body.size() < kGatherBytes) {
    gathered_.append(body);
  } else {
    HB_RETURN_IF_ERROR(Flush());
    HB_RETURN_IF_ERROR(file_->Append(body));
  }
  gathered_.append(PaddedSize(body.size()) - body.size(), '\0');
  offset_ = header.end();
  if (gathered_.size() >= kGatherBytes) return Flush();
  return absl::OkStatus();
}

Status SegmentWriter::Flush() {
  if (gathered_.empty()) return absl::OkStatus();
  HB_RETURN_IF_ERROR(file_->Append(gathered_));
  gathered_.clear();
  return absl::OkStatus();
}

Status SegmentWriter::Sync() {
  HB_RETURN_IF_ERROR(Flush());
  if (all_synced()) return absl::OkStatus();
  HB_RETURN_IF_ERROR(file_->Sync());
  synced_ = offset_;
  return absl::OkStatus();
}

}  // namespace hornbeam::engine
