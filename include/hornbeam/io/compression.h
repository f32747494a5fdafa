// How a file is compressed (Beam's Compression).
#ifndef HORNBEAM_IO_COMPRESSION_H_
#define HORNBEAM_IO_COMPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hornbeam::io {

enum class Compression : uint8_t {
  kAuto,  // by the name's extension: .gz is kGzip, .zst and .zstd are kZstd, any other
          // kUncompressed
  kUncompressed,
  kGzip,
  kZstd,
};

// "gzip".
const char* ToString(Compression compression);
// What `told` means for a file of this name: never kAuto. UNIMPLEMENTED for kAuto and an extension
// of a compression that is not supported (.bz2, .zip, .deflate, .lzo, .snappy): such bytes must not
// be taken for text.
StatusOr<Compression> ResolveCompression(Compression told, std::string_view path);
// ".gz"; empty for kUncompressed and kAuto.
std::string ExtensionOf(Compression compression);

}  // namespace hornbeam::io

#endif  // HORNBEAM_IO_COMPRESSION_H_
