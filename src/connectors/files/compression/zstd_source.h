// Decompress() of zstd.
#ifndef HORNBEAM_CONNECTORS_FILES_COMPRESSION_ZSTD_SOURCE_H_
#define HORNBEAM_CONNECTORS_FILES_COMPRESSION_ZSTD_SOURCE_H_

#include <zstd.h>

#include <memory>
#include <string>

#include "connectors/files/store/byte_source.h"

namespace hornbeam::connectors {

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> compressed, std::string path);
  StatusOr<size_t> Read(char* to, size_t size) override;

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  Status Damaged(const char* what, const char* why) const;

  const std::unique_ptr<ByteSource> compressed_;
  const std::string path_;
  const std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::string buffer_;
  ZSTD_inBuffer input_{};
  uint64_t offset_ = 0;    // in the file, of the end of input_
  bool in_frame_ = true;   // an empty file is none
  bool flushing_ = false;  // the library may have more of the input it has taken
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_COMPRESSION_ZSTD_SOURCE_H_
