#include "services/bigquery/core/civil_time.h"

#include <cstdio>

#include "absl/strings/match.h"

namespace hornbeam::services::bigquery {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes pieces off the front of the text; `ok` turns false for good at the first that is not there.
struct Scanner {
  std::string_view text;
  bool ok = true;

  bool Literal(char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  }
  void Expect(char c) { ok = Literal(c) && ok; }
  // A number of `least` to `most` digits within [low, high].
  int64_t Number(size_t least, size_t most, int64_t low, int64_t high) {
    int64_t value = 0;
    size_t n = 0;
    while (n < most && n < text.size() && IsDigit(text[n])) value = value * 10 + (text[n++] - '0');
    text.remove_prefix(n);
    ok = ok && n >= least && value >= low && value <= high;
    return value;
  }
  // ".123456": up to six digits count, further ones must be digits.
  int64_t Fraction() {
    if (!Literal('.')) return 0;
    int64_t value = 0;
    size_t n = 0;
    while (n < text.size() && IsDigit(text[n])) {
      if (n < 6) value = value * 10 + (text[n] - '0');
      ++n;
    }
    ok = ok && n > 0 && n <= 9;
    text.remove_prefix(n);
    for (size_t i = n; i < 6; ++i) value *= 10;
    return value;
  }
};

int64_t DaysFromCivil(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400;
  const int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

void CivilFromDays(int64_t z, int* y, int* m, int* d) {
  z += 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t doe = z - era * 146097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153;
  *d = static_cast<int>(doy - (153 * mp + 2) / 5 + 1);
  *m = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  *y = static_cast<int>(yoe + era * 400 + (*m <= 2));
}

int DaysInMonth(int64_t y, int64_t m) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
  return m == 2 && leap ? 29 : kDays[m - 1];
}

int64_t ScanDate(Scanner* in) {
  const int64_t y = in->Number(4, 4, 1, 9999);
  in->Expect('-');
  const int64_t m = in->Number(1, 2, 1, 12);
  in->Expect('-');
  const int64_t d = in->Number(1, 2, 1, 31);
  if (!in->ok || d > DaysInMonth(y, m)) {
    in->ok = false;
    return 0;
  }
  return DaysFromCivil(y, m, d);
}

int64_t ScanTime(Scanner* in) {
  const int64_t h = in->Number(1, 2, 0, 23);
  in->Expect(':');
  const int64_t m = in->Number(1, 2, 0, 59);
  in->Expect(':');
  const int64_t s = in->Number(1, 2, 0, 59);
  return ((h * 60 + m) * 60 + s) * kMicrosPerSecond + in->Fraction();
}

// Leaves what follows the time (a zone).
int64_t ScanDatetime(Scanner* in) {
  const int64_t days = ScanDate(in);
  int64_t micros = 0;
  if (in->ok && !in->text.empty()) {
    const char c = in->text.front();
    const bool time_follows = in->text.size() > 1 && IsDigit(in->text[1]);
    if ((c == 'T' || c == 't' || c == ' ') && time_follows) {
      in->text.remove_prefix(1);
      micros = ScanTime(in);
    }
  }
  return days * kMicrosPerDay + micros;
}

std::string_view Strip(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <typename T>
std::optional<T> Done(const Scanner& in, T value) {
  return in.ok && in.text.empty() ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

std::optional<int32_t> ParseDate(std::string_view text) {
  Scanner in{Strip(text)};
  const int64_t days = ScanDate(&in);
  return Done(in, static_cast<int32_t>(days));
}

std::optional<int64_t> ParseTime(std::string_view text) {
  Scanner in{Strip(text)};
  const int64_t micros = ScanTime(&in);
  return Done(in, micros);
}

std::optional<int64_t> ParseDatetime(std::string_view text) {
  Scanner in{Strip(text)};
  const int64_t micros = ScanDatetime(&in);
  return Done(in, micros);
}

std::optional<int64_t> ParseTimestamp(std::string_view text) {
  Scanner in{Strip(text)};
  int64_t micros = ScanDatetime(&in);
  in.Literal(' ');
  const absl::string_view zone(in.text.data(), in.text.size());
  if (absl::EqualsIgnoreCase(zone, "z") || absl::EqualsIgnoreCase(zone, "utc")) {
    in.text = {};
  } else if (!in.text.empty()) {
    const bool east = in.Literal('+');
    if (!east) in.Expect('-');
    const int64_t hours = in.Number(1, 2, 0, 14);
    int64_t minutes = 0;
    if (!in.text.empty()) {
      in.Literal(':');
      minutes = in.Number(2, 2, 0, 59);
    }
    micros -= (east ? 1 : -1) * (hours * 60 + minutes) * 60 * kMicrosPerSecond;
  }
  if (micros < kMinTimestampMicros || micros > kMaxTimestampMicros) return std::nullopt;
  return Done(in, micros);
}

std::optional<int64_t> TimeFromPacked(int64_t packed) {
  const int64_t micros = packed & 0xfffff, s = (packed >> 20) & 0x3f, m = (packed >> 26) & 0x3f,
                h = packed >> 32;
  if (packed < 0 || micros >= kMicrosPerSecond || s > 59 || m > 59 || h > 23) return std::nullopt;
  return ((h * 60 + m) * 60 + s) * kMicrosPerSecond + micros;
}

std::optional<int64_t> DatetimeFromPacked(int64_t packed) {
  const int64_t time = packed & ((int64_t{1} << 37) - 1);
  const int64_t d = (packed >> 37) & 0x1f, m = (packed >> 42) & 0xf, y = packed >> 46;
  const auto micros = TimeFromPacked(time);
  if (packed < 0 || !micros || y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 ||
      d > DaysInMonth(y, m)) {
    return std::nullopt;
  }
  return DaysFromCivil(y, m, d) * kMicrosPerDay + *micros;
}

void AppendDate(int32_t days, std::string* out) {
  int y, m, d;
  CivilFromDays(days, &y, &m, &d);
  char buffer[32];
  out->append(buffer,
              static_cast<size_t>(std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02d", y, m, d)));
}

void AppendTime(int64_t micros, std::string* out) {
  const int64_t s = micros / kMicrosPerSecond;
  const int fraction = static_cast<int>(micros % kMicrosPerSecond);
  char buffer[32];
  int n = std::snprintf(buffer, sizeof buffer, "%02d:%02d:%02d", static_cast<int>(s / 3600),
                        static_cast<int>(s / 60 % 60), static_cast<int>(s % 60));
  if (fraction)
    n += std::snprintf(buffer + n, sizeof buffer - static_cast<size_t>(n), ".%06d", fraction);
  out->append(buffer, static_cast<size_t>(n));
}

void AppendDatetime(int64_t micros, std::string* out) {
  int64_t days = micros / kMicrosPerDay;
  int64_t rest = micros % kMicrosPerDay;
  if (rest < 0) {
    rest += kMicrosPerDay;
    --days;
  }
  AppendDate(static_cast<int32_t>(days), out);
  *out += 'T';
  AppendTime(rest, out);
}

}  // namespace hornbeam::services::bigquery
