// How the blocks of Avro files are compressed.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_CODEC_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_CODEC_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "hornbeam/io/avro_io.h"

namespace hornbeam::connectors {

// "null", "deflate", "zstandard".
const char* ToString(io::AvroCodec codec);
// UNIMPLEMENTED names the codec that is not supported.
StatusOr<io::AvroCodec> AvroCodecOf(std::string_view name);

StatusOr<std::string> CompressAvroBlock(std::string block, io::AvroCodec codec);
// DATA_LOSS for damaged bytes, RESOURCE_EXHAUSTED for more than `limit_bytes` of content.
StatusOr<std::string> DecompressAvroBlock(std::string_view block, io::AvroCodec codec,
                                          size_t limit_bytes);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_CODEC_H_
