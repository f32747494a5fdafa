#include "hornbeam/io/compression.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"

namespace hornbeam::io {
namespace {

// Extensions that mean a compression which is not here.
constexpr const char* kUnsupported[] = {".bz2",    ".zip", ".deflate", ".lzo", ".lzo_deflate",
                                        ".snappy", ".sz",  ".xz",      ".lz4"};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

const char* ToString(Compression compression) {
  switch (compression) {
    case Compression::kAuto: return "auto";
    case Compression::kUncompressed: return "uncompressed";
    case Compression::kGzip: return "gzip";
    case Compression::kZstd: return "zstd";
  }
  return "unknown";
}

StatusOr<Compression> ResolveCompression(Compression told, std::string_view path) {
  if (told != Compression::kAuto) return told;
  const std::string lower = LowerCase(path);
  if (lower.ends_with(".gz")) return Compression::kGzip;
  if (lower.ends_with(".zst") || lower.ends_with(".zstd")) return Compression::kZstd;
  for (const char* const extension : kUnsupported) {
    if (!lower.ends_with(extension)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "'", std::string(path), "': files that end with ", extension,
        " cannot be read; compress it with gzip or zstd, or say that it is not compressed"));
  }
  return Compression::kUncompressed;
}

std::string ExtensionOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip: return ".gz";
    case Compression::kZstd: return ".zst";
    default: return "";
  }
}

}  // namespace hornbeam::io
