// Avro's logical types as text.
#ifndef HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_LOGICAL_H_
#define HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_LOGICAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hornbeam::connectors {

// "2013-01-01T05:00:00.5Z", and back from RFC 3339; nothing for what is no such text or does not
// fit.
std::string FormatTimestamp(int64_t micros);
std::optional<int64_t> ParseTimestamp(std::string_view text);
// "2013-01-31", and back.
std::string FormatDate(int32_t days_since_1970);
std::optional<int32_t> ParseDate(std::string_view text);
// Of a two's-complement number, the greatest byte first: "-12.50" for a scale of 2. Nothing for one
// of more than 16 bytes.
std::optional<std::string> FormatDecimal(std::string_view big_endian, int32_t scale);
// Back, in as few bytes as it needs. Nothing for what is no number, has more digits behind the
// point than the scale, or more than 38 in all.
std::optional<std::string> ParseDecimal(std::string_view text, int32_t scale);

}  // namespace hornbeam::connectors

#endif  // HORNBEAM_CONNECTORS_FILES_FORMATS_AVRO_AVRO_LOGICAL_H_
