#include "base/bytes.h"

#include <xxhash.h>

namespace hornbeam {

uint32_t Checksum(std::string_view bytes) { return static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size())); }

}  // namespace hornbeam
