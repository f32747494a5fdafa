#include "services/bigquery/core/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace hornbeam::services::bigquery {
namespace {

constexpr int kMaxDigits = 38;

Int128 PowerOfTen(int n) {
  Int128 power = 1;
  for (int i = 0; i < n; ++i) power *= 10;
  return power;
}

bool Fits(Int128 value) {
  static const Int128 kLimit = PowerOfTen(kMaxDigits);
  return value > -kLimit && value < kLimit;
}

}  // namespace

std::optional<Int128> ParseDecimal(std::string_view text, int scale) {
  size_t i = 0;
  while (i < text.size() && text[i] == ' ') ++i;
  while (text.size() > i && text.back() == ' ') text.remove_suffix(1);
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  std::string digits;
  int64_t point = -1;
  bool any = false;
  for (; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      any = true;
      if (digits.empty() && text[i] == '0' && point < 0) continue;
      digits += text[i];
    } else if (text[i] == '.' && point < 0) {
      point = static_cast<int64_t>(digits.size());
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  int64_t exponent = 0;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    ++i;
    if (i < text.size() && text[i] == '+') ++i;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), exponent);
    if (error != std::errc() || end != text.data() + text.size() || std::abs(exponent) > 1000)
      return std::nullopt;
  }
  // The value is 0.DIGITS * 10^(whole).
  int64_t whole = (point < 0 ? static_cast<int64_t>(digits.size()) : point) + exponent;
  size_t leading = 0;
  while (leading < digits.size() && digits[leading] == '0') ++leading;
  digits.erase(0, leading);
  whole -= static_cast<int64_t>(leading);
  if (digits.empty()) return 0;
  const int64_t kept = whole + scale;  // digits of the result
  if (kept > kMaxDigits) return std::nullopt;
  if (kept < 0) return 0;
  Int128 value = 0;
  for (int64_t k = 0; k < kept; ++k) {
    value = value * 10 +
            (k < static_cast<int64_t>(digits.size()) ? digits[static_cast<size_t>(k)] - '0' : 0);
  }
  if (kept < static_cast<int64_t>(digits.size()) && digits[static_cast<size_t>(kept)] >= '5')
    ++value;
  if (!Fits(value)) return std::nullopt;
  return negative ? -value : value;
}

std::optional<Int128> DecimalFromDouble(double value, int scale) {
  if (!std::isfinite(value)) return std::nullopt;
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  if (error != std::errc()) return std::nullopt;
  return ParseDecimal({buffer, static_cast<size_t>(end - buffer)}, scale);
}

std::optional<Int128> DecimalFromInteger(Int128 value, int scale) {
  const Int128 power = PowerOfTen(scale);
  Int128 scaled;
  if (__builtin_mul_overflow(value, power, &scaled) || !Fits(scaled)) return std::nullopt;
  return scaled;
}

std::optional<Int128> DecimalFromBytes(std::string_view bytes, int from_scale, int scale) {
  if (bytes.empty()) return std::nullopt;
  const unsigned char sign = static_cast<unsigned char>(bytes.back()) & 0x80 ? 0xff : 0;
  // Divide the whole number by 10^(from_scale - scale), byte-wise from the top, on its magnitude.
  std::string magnitude(bytes);
  if (sign) {
    unsigned carry = 1;
    for (char& c : magnitude) {
      carry += static_cast<unsigned char>(~c);
      c = static_cast<char>(carry);
      carry >>= 8;
    }
  }
  unsigned remainder = 0;
  for (int i = 0; i < from_scale - scale; ++i) {
    remainder = 0;
    for (size_t k = magnitude.size(); k-- > 0;) {
      const unsigned current = (remainder << 8) | static_cast<unsigned char>(magnitude[k]);
      magnitude[k] = static_cast<char>(current / 10);
      remainder = current % 10;
    }
    if (remainder != 0) return std::nullopt;  // more fractional digits than can be kept
  }
  unsigned __int128 value = 0;
  for (size_t k = magnitude.size(); k-- > 0;) {
    if (value >> 119) return std::nullopt;
    value = (value << 8) | static_cast<unsigned char>(magnitude[k]);
  }
  const auto result = static_cast<Int128>(value);
  if (!Fits(result)) return std::nullopt;
  return sign ? -result : result;
}

void AppendDecimal(Int128 value, int scale, std::string* out) {
  const bool negative = value < 0;
  auto rest =
      negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  while (digits.size() <= static_cast<size_t>(scale)) digits += '0';
  std::reverse(digits.begin(), digits.end());
  if (scale > 0) {
    digits.insert(digits.size() - static_cast<size_t>(scale), ".");
    while (digits.back() == '0') digits.pop_back();
    if (digits.back() == '.') digits.pop_back();
  }
  if (negative) *out += '-';
  *out += digits;
}

}  // namespace hornbeam::services::bigquery
