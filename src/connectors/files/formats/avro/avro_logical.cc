#include "connectors/files/formats/avro/avro_logical.h"

#include <algorithm>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace hornbeam::connectors {
namespace {

constexpr int kMostDigits = 38;  // of 128 bits

absl::CivilDay Epoch() { return absl::CivilDay(1970, 1, 1); }

}  // namespace

std::string FormatTimestamp(int64_t micros) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", absl::FromUnixMicros(micros),
                          absl::UTCTimeZone());
}

std::optional<int64_t> ParseTimestamp(std::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, std::string(text), &time, &error)) return std::nullopt;
  if (time < absl::FromUnixMicros(INT64_MIN) || time > absl::FromUnixMicros(INT64_MAX))
    return std::nullopt;
  return absl::ToUnixMicros(time);
}

std::string FormatDate(int32_t days_since_1970) {
  return absl::FormatCivilTime(Epoch() + days_since_1970);
}

std::optional<int32_t> ParseDate(std::string_view text) {
  absl::CivilDay day;
  if (!absl::ParseCivilTime(std::string(text), &day)) return std::nullopt;
  const int64_t days = day - Epoch();
  if (days < INT32_MIN || days > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(days);
}

std::optional<std::string> FormatDecimal(std::string_view big_endian, int32_t scale) {
  if (big_endian.size() > sizeof(__int128)) return std::nullopt;
  const bool negative = !big_endian.empty() && (big_endian[0] & 0x80) != 0;
  unsigned __int128 bits = negative ? ~static_cast<unsigned __int128>(0) : 0;
  for (const char c : big_endian) bits = bits << 8 | static_cast<unsigned char>(c);
  unsigned __int128 rest = negative ? ~bits + 1 : bits;
  std::string digits;
  for (; rest > 0 || digits.size() <= static_cast<size_t>(scale); rest /= 10)
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (scale > 0) digits.insert(static_cast<size_t>(scale), 1, '.');
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::optional<std::string> ParseDecimal(std::string_view text, int32_t scale) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  const std::string_view behind = point < text.size() ? text.substr(point + 1) : std::string_view();
  if (digits.empty() || behind.size() > static_cast<size_t>(scale) ||
      (point < text.size() && behind.empty()))
    return std::nullopt;
  digits.append(behind).append(static_cast<size_t>(scale) - behind.size(), '0');
  if (digits.size() > kMostDigits || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  unsigned __int128 bits = 0;
  for (const char digit : digits) bits = bits * 10 + static_cast<unsigned>(digit - '0');
  auto number = static_cast<__int128>(bits);
  if (negative) number = -number;
  std::string bytes;
  do {
    bytes.push_back(static_cast<char>(number));
    number >>= 8;
  } while (!(number == 0 && (bytes.back() & 0x80) == 0) &&
           !(number == -1 && (bytes.back() & 0x80) != 0));
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace hornbeam::connectors
