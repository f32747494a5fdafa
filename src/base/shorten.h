// Text of others made short enough to be repeated in an error.
#ifndef HORNBEAM_BASE_SHORTEN_H_
#define HORNBEAM_BASE_SHORTEN_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace hornbeam {

// What gRPC carries in an error together with all else must fit into headers of 8 kB, or clients
// drop the answer and see RESOURCE_EXHAUSTED.
inline constexpr size_t kMaxErrorTextBytes = 1024;

// `text`, or its first `max_bytes` (less when that would cut a character of UTF-8 in two) and how
// many there were.
std::string Shortened(std::string_view text, size_t max_bytes = kMaxErrorTextBytes);

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_SHORTEN_H_
