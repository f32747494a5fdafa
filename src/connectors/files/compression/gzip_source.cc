#include "connectors/files/compression/gzip_source.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

constexpr size_t kInputBytes = 64 << 10;
constexpr int kGzipHeader = 16 + MAX_WBITS;  // zlib: the format is gzip, and nothing else

}  // namespace

GzipSource::GzipSource(std::unique_ptr<ByteSource> compressed, std::string path)
    : compressed_(std::move(compressed)), path_(std::move(path)), input_(kInputBytes, '\0') {
  HB_CHECK(inflateInit2(&stream_, kGzipHeader) == Z_OK);
}

GzipSource::~GzipSource() { inflateEnd(&stream_); }

Status GzipSource::Damaged(const char* what) const {
  return absl::DataLossError(
      absl::StrCat("'", path_, "' ", what, " at byte ", offset_ - stream_.avail_in));
}

StatusOr<bool> GzipSource::Fill() {
  if (stream_.avail_in > 0) return true;
  HB_ASSIGN_OR_RETURN(const size_t got, compressed_->Read(input_.data(), input_.size()));
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(got);
  offset_ += got;
  return got > 0;
}

StatusOr<bool> GzipSource::NextMember() {
  while (true) {
    HB_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) {
      if (!any_member_) return Damaged("is no gzip file: it is empty");
      return false;
    }
    if (!any_member_ || *stream_.next_in != 0) break;
    ++stream_.next_in;  // padding
    --stream_.avail_in;
  }
  if (*stream_.next_in != 0x1f) {
    return Damaged(any_member_ ? "has bytes that are not gzip after its compressed content,"
                               : "is no gzip file: it does not begin as one");
  }
  HB_CHECK(inflateReset2(&stream_, kGzipHeader) == Z_OK);
  in_member_ = any_member_ = true;
  return true;
}

StatusOr<size_t> GzipSource::Read(char* to, size_t size) {
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, UINT_MAX));
  const uInt room = stream_.avail_out;
  while (stream_.avail_out == room) {
    if (!in_member_) {
      HB_ASSIGN_OR_RETURN(const bool more, NextMember());
      if (!more) return size_t{0};
    }
    HB_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) return Damaged("is cut off: its gzip data has no end; the file stops");
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      in_member_ = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Damaged("holds damaged gzip data");
    }
  }
  return room - stream_.avail_out;
}

}  // namespace hornbeam::connectors
