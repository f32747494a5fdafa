// Decompress() of gzip.
#ifndef HORNBEAM_CONNECTORS_FILES_COMPRESSION_GZIP_SOURCE_H_
#define HORNBEAM_CONNECTORS_FILES_COMPRESSION_GZIP_SOURCE_H_

#include <zlib.h>

#include <memory>
#include <string>

#include "connectors/files/store/byte_source.h"

namespace hornbeam::connectors {

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> compressed, std::string path);
  ~GzipSource() override;
  StatusOr<size_t> Read(char* to, size_t size) override;

 private:
  // Makes input available; false at the end of the file.
  StatusOr<bool> Fill();
  // Between members: whether another one begins.
  StatusOr<bool> NextMember();
  Status Damaged(const char* what) const;

  const std::unique_ptr<ByteSource> compressed_;
  const std::string path_;
  z_stream stream_{};
  std::string input_;
  uint64_t offset_ = 0;  // in the file, of the end of input_
  bool in_member_ = false;
  bool any_member_ = false;
};

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_COMPRESSION_GZIP_SOURCE_H_
