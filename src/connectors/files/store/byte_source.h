// The bytes of a file, from somewhere on, in order.
#ifndef HORNBEAM_CONNECTORS_FILES_STORE_BYTE_SOURCE_H_
#define HORNBEAM_CONNECTORS_FILES_STORE_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace hornbeam::connectors {

// Not thread-safe. After an error it is used no more. Errors name the file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `size` bytes, at least one: 0 is the end and nothing else. REQUIRES: size > 0. May
  // block.
  virtual StatusOr<size_t> Read(char* to, size_t size) = 0;
};

// Reads past `bytes` of them. OUT_OF_RANGE, which names no file, where the end comes before.
Status SkipBytes(ByteSource& source, uint64_t bytes);
// All that is left; RESOURCE_EXHAUSTED, which names no file, where that is more than `limit_bytes`.
StatusOr<std::string> ReadAllBytes(ByteSource& source, uint64_t limit_bytes);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_STORE_BYTE_SOURCE_H_
