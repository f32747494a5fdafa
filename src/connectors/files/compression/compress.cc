#include "connectors/files/compression/compress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

constexpr int kZstdLevel = 3;
constexpr size_t kChunkBytes = 256 << 10;

StatusOr<std::string> Gzip(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("there is no memory to compress with gzip");
  }
  std::string compressed;
  std::string chunk(kChunkBytes, '\0');
  size_t taken = 0;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const size_t part = std::min<size_t>(content.size() - taken, UINT_MAX / 2);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data() + taken));
      stream.avail_in = static_cast<uInt>(part);
      taken += part;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    result = deflate(&stream, taken == content.size() ? Z_FINISH : Z_NO_FLUSH);
    compressed.append(chunk, 0, chunk.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return compressed;
}

StatusOr<std::string> Zstd(const std::string& content) {
  std::string compressed(ZSTD_compressBound(content.size()), '\0');
  const size_t size = ZSTD_compress(compressed.data(), compressed.size(), content.data(),
                                    content.size(), kZstdLevel);
  if (ZSTD_isError(size))
    return absl::InternalError(absl::StrCat("compressing with zstd: ", ZSTD_getErrorName(size)));
  compressed.resize(size);
  return compressed;
}

}  // namespace

StatusOr<std::string> Compress(std::string content, io::Compression compression) {
  switch (compression) {
    case io::Compression::kGzip: return Gzip(content);
    case io::Compression::kZstd: return Zstd(content);
    default: return content;
  }
}

}  // namespace hornbeam::connectors
