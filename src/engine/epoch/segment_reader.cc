#include "engine/epoch/segment_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::engine {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kMaxHeaderBytes = 1 << 17;

}  // namespace

StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::Open(FileSystem* fs, std::string path) {
  HB_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs->OpenForRead(path));
  HB_ASSIGN_OR_RETURN(const uint64_t file_size, file->Size());
  std::unique_ptr<SegmentReader> reader(
      new SegmentReader(std::move(path), std::move(file), file_size));
  HB_ASSIGN_OR_RETURN(const std::string_view start,
                      reader->View(0, std::min<uint64_t>(file_size, kMaxHeaderBytes)));
  size_t header_size = 0;
  StatusOr<SegmentHeader> header = DecodeSegmentHeader(start, &header_size);
  if (!header.ok()) {
    return Status(header.status().code(),
                  absl::StrCat("'", reader->path_, "' ", header.status().message()));
  }
  reader->header_ = *std::move(header);
  reader->header_size_ = reader->position_ = header_size;
  return reader;
}

StatusOr<SegmentReader::Outcome> SegmentReader::Next() {
  if (position_ == file_size_) return Outcome::kEnd;
  if (file_size_ - position_ < FrameHeader::kBytes) return Outcome::kInvalid;
  HB_ASSIGN_OR_RETURN(const std::string_view header_bytes, View(position_, FrameHeader::kBytes));
  const std::optional<FrameHeader> header =
      DecodeFrameHeader(header_bytes, position_, header_.salt);
  if (!header.has_value() || header->end() > file_size_) return Outcome::kInvalid;
  HB_ASSIGN_OR_RETURN(const std::string_view padded_body,
                      View(position_ + FrameHeader::kBytes, PaddedSize(header->body_size)));
  const std::string_view body = padded_body.substr(0, header->body_size);
  if (Checksum(body) != header->body_checksum) return Outcome::kInvalid;
  for (const char c : padded_body.substr(header->body_size)) {
    if (c != '\0') return Outcome::kInvalid;
  }
  frame_ = *header;
  body_ = body;
  position_ = header->end();
  return Outcome::kFrame;
}

StatusOr<uint64_t> SegmentReader::SyncedAccordingToTheRest() {
  uint64_t synced = 0;
  for (uint64_t at = position_; at + FrameHeader::kBytes <= file_size_; at += kLogAlignment) {
    HB_ASSIGN_OR_RETURN(const std::string_view bytes, View(at, FrameHeader::kBytes));
    const std::optional<FrameHeader> header = DecodeFrameHeader(bytes, at, header_.salt);
    if (header.has_value()) synced = std::max(synced, header->synced);
  }
  return synced;
}

StatusOr<std::string_view> SegmentReader::View(uint64_t offset, size_t size) {
  const bool buffered = offset >= buffer_offset_ && offset - buffer_offset_ <= buffer_.size() &&
                        buffer_.size() - (offset - buffer_offset_) >= size;
  if (!buffered) {
    HB_RETURN_IF_ERROR(file_->Read(offset, std::max(size, kReadBytes), &buffer_));
    buffer_offset_ = offset;
    if (buffer_.size() < size) {
      return absl::DataLossError(absl::StrCat("'", path_, "' ended at offset ",
                                              offset + buffer_.size(), " while it was being read"));
    }
  }
  return std::string_view(buffer_).substr(offset - buffer_offset_, size);
}

}  // namespace hornbeam::engine
