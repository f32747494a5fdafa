#include "connectors/files/formats/avro/avro_codec.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connectors/files/compression/compress.h"

namespace hornbeam::connectors {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

Status TooLong(size_t limit_bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("a block holds more than ", limit_bytes, " bytes"));
}

// RFC 1951, with nothing around it.
std::string Deflate(const std::string& block) {
  z_stream stream{};
  HB_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  std::string compressed(deflateBound(&stream, block.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  HB_CHECK(result == Z_STREAM_END);
  return compressed;
}

StatusOr<std::string> Inflate(std::string_view block, size_t limit_bytes) {
  z_stream stream{};
  HB_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, &inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  std::string content;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    const size_t had = content.size();
    if (had > limit_bytes) return TooLong(limit_bytes);
    content.resize(had + std::max(kChunkBytes, had));
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + had);
    stream.avail_out = static_cast<uInt>(content.size() - had);
    result = inflate(&stream, Z_NO_FLUSH);
    content.resize(content.size() - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END)
      return absl::DataLossError("a block holds damaged deflate data");
  }
  return content;
}

StatusOr<std::string> Unzstd(std::string_view block, size_t limit_bytes) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   &ZSTD_freeDCtx);
  HB_CHECK(context != nullptr);
  ZSTD_inBuffer in{block.data(), block.size(), 0};
  std::string content;
  size_t left = 1;
  while (left != 0) {
    const size_t had = content.size();
    if (had > limit_bytes) return TooLong(limit_bytes);
    content.resize(had + std::max(kChunkBytes, had));
    ZSTD_outBuffer out{content.data(), content.size(), had};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    const bool stuck = out.pos == had && in.pos == in.size && left != 0;
    content.resize(out.pos);
    if (ZSTD_isError(left) || stuck)
      return absl::DataLossError("a block holds damaged zstandard data");
  }
  return content;
}

}  // namespace

const char* ToString(io::AvroCodec codec) {
  switch (codec) {
    case io::AvroCodec::kNull: return "null";
    case io::AvroCodec::kDeflate: return "deflate";
    case io::AvroCodec::kZstandard: return "zstandard";
  }
  return "unknown";
}

StatusOr<io::AvroCodec> AvroCodecOf(std::string_view name) {
  for (const io::AvroCodec codec :
       {io::AvroCodec::kNull, io::AvroCodec::kDeflate, io::AvroCodec::kZstandard}) {
    if (name == ToString(codec)) return codec;
  }
  return absl::UnimplementedError(
      absl::StrCat("its codec '", std::string(name),
                   "' is not supported; write it with null, deflate or zstandard"));
}

StatusOr<std::string> CompressAvroBlock(std::string block, io::AvroCodec codec) {
  if (codec == io::AvroCodec::kDeflate) return Deflate(block);
  if (codec == io::AvroCodec::kZstandard) return Compress(std::move(block), io::Compression::kZstd);
  return block;
}

StatusOr<std::string> DecompressAvroBlock(std::string_view block, io::AvroCodec codec,
                                          size_t limit_bytes) {
  if (codec == io::AvroCodec::kDeflate) return Inflate(block, limit_bytes);
  if (codec == io::AvroCodec::kZstandard) return Unzstd(block, limit_bytes);
  return std::string(block);
}

}  // namespace hornbeam::connectors
