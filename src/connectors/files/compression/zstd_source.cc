#include "connectors/files/compression/zstd_source.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {

ZstdSource::ZstdSource(std::unique_ptr<ByteSource> compressed, std::string path)
    : compressed_(std::move(compressed)),
      path_(std::move(path)),
      context_(ZSTD_createDCtx()),
      buffer_(ZSTD_DStreamInSize(), '\0') {
  HB_CHECK(context_ != nullptr);
}

Status ZstdSource::Damaged(const char* what, const char* why) const {
  return absl::DataLossError(
      absl::StrCat("'", path_, "' ", what, " at byte ", offset_ - (input_.size - input_.pos), why));
}

StatusOr<size_t> ZstdSource::Read(char* to, size_t size) {
  ZSTD_outBuffer output{to, size, 0};
  while (output.pos == 0) {
    // First what the library still holds of input it has taken.
    if (input_.pos == input_.size && !flushing_) {
      HB_ASSIGN_OR_RETURN(const size_t got, compressed_->Read(buffer_.data(), buffer_.size()));
      if (got == 0) {
        if (in_frame_) return Damaged("is cut off: its zstd data has no end; the file stops", "");
        return size_t{0};
      }
      offset_ += got;
      input_ = {buffer_.data(), got, 0};
    }
    const size_t left = ZSTD_decompressStream(context_.get(), &output, &input_);
    if (ZSTD_isError(left))
      return Damaged("holds no good zstd data",
                     absl::StrCat(": ", ZSTD_getErrorName(left)).c_str());
    in_frame_ = left != 0;
    flushing_ = output.pos == output.size && left != 0;
  }
  return output.pos;
}

}  // namespace hornbeam::connectors
