#include "connectors/files/store/byte_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

}  // namespace

Status SkipBytes(ByteSource& source, uint64_t bytes) {
  std::string chunk(kChunkBytes, '\0');
  while (bytes > 0) {
    HB_ASSIGN_OR_RETURN(
        const size_t got,
        source.Read(chunk.data(), static_cast<size_t>(std::min<uint64_t>(bytes, kChunkBytes))));
    if (got == 0)
      return absl::OutOfRangeError(
          absl::StrCat("it ends ", bytes, " bytes before the place to go on from"));
    bytes -= got;
  }
  return absl::OkStatus();
}

StatusOr<std::string> ReadAllBytes(ByteSource& source, uint64_t limit_bytes) {
  std::string all;
  std::string chunk(kChunkBytes, '\0');
  while (true) {
    HB_ASSIGN_OR_RETURN(const size_t got, source.Read(chunk.data(), chunk.size()));
    if (got == 0) return all;
    if (all.size() + got > limit_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("it has more than ", limit_bytes, " bytes, the most that are read at once"));
    }
    all.append(chunk, 0, got);
  }
}

}  // namespace hornbeam::connectors
