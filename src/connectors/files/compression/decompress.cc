#include "connectors/files/compression/decompress.h"

#include "connectors/files/compression/gzip_source.h"
#include "connectors/files/compression/zstd_source.h"

namespace hornbeam::connectors {

std::unique_ptr<ByteSource> Decompress(std::unique_ptr<ByteSource> compressed,
                                       io::Compression compression, std::string path) {
  HB_CHECK(compression != io::Compression::kAuto);
  switch (compression) {
    case io::Compression::kGzip:
      return std::make_unique<GzipSource>(std::move(compressed), std::move(path));
    case io::Compression::kZstd:
      return std::make_unique<ZstdSource>(std::move(compressed), std::move(path));
    default: return compressed;
  }
}

}  // namespace hornbeam::connectors
