// Compresses the content of a file.
#ifndef HORNBEAM_CONNECTORS_FILES_COMPRESSION_COMPRESS_H_
#define HORNBEAM_CONNECTORS_FILES_COMPRESSION_COMPRESS_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "hornbeam/io/compression.h"

namespace hornbeam::connectors {

// The same content gives the same bytes: no name and no time goes into them. kAuto is as
// kUncompressed.
StatusOr<std::string> Compress(std::string content, io::Compression compression);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_COMPRESSION_COMPRESS_H_
