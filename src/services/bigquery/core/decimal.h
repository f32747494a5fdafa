// NUMERIC and BIGNUMERIC values as scaled 128-bit integers.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_DECIMAL_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_DECIMAL_H_

#include <optional>
#include <string>
#include <string_view>

namespace hornbeam::services::bigquery {

using Int128 = __int128;

// "-12.5e3" as value * 10^scale, digits beyond the scale rounded half away from zero. Nothing when
// the text is no number or needs more than 38 digits.
std::optional<Int128> ParseDecimal(std::string_view text, int scale);
// A finite double likewise.
std::optional<Int128> DecimalFromDouble(double value, int scale);
// Google's BigDecimalByteStringEncoder: little-endian two's complement of the value scaled by
// `from_scale`.
std::optional<Int128> DecimalFromBytes(std::string_view bytes, int from_scale, int scale);
// v * 10^scale for an integer.
std::optional<Int128> DecimalFromInteger(Int128 value, int scale);

// "12.5": no trailing zeros, no exponent.
void AppendDecimal(Int128 value, int scale, std::string* out);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_DECIMAL_H_
