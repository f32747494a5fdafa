// Reads what a compressed file holds.
#ifndef HORNBEAM_CONNECTORS_FILES_COMPRESSION_DECOMPRESS_H_
#define HORNBEAM_CONNECTORS_FILES_COMPRESSION_DECOMPRESS_H_

#include <memory>
#include <string>

#include "connectors/files/store/byte_source.h"
#include "hornbeam/io/compression.h"

namespace hornbeam::connectors {

// The content of `compressed`, which stands at the beginning of the file `path` (for messages).
// Members of a gzip file, and frames of a zstd file, may follow one another; zeros may follow the
// last gzip member, as tape blocks have them. DATA_LOSS for anything else that is not compressed
// so, and for a file that is cut off; the message names the file and the place in it. REQUIRES: the
// compression is not kAuto.
std::unique_ptr<ByteSource> Decompress(std::unique_ptr<ByteSource> compressed,
                                       io::Compression compression, std::string path);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_COMPRESSION_DECOMPRESS_H_
