// Dates and times as BigQuery writes them, to and from the integers that DuckDB stores. Proleptic
// Gregorian, UTC, years 1 to 9999, microseconds.
#ifndef HORNBEAM_SERVICES_BIGQUERY_CORE_CIVIL_TIME_H_
#define HORNBEAM_SERVICES_BIGQUERY_CORE_CIVIL_TIME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hornbeam::services::bigquery {

inline constexpr int64_t kMinDateDays = -719162;  // 0001-01-01
inline constexpr int64_t kMaxDateDays = 2932896;  // 9999-12-31
inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;
inline constexpr int64_t kMinTimestampMicros = kMinDateDays * kMicrosPerDay;
inline constexpr int64_t kMaxTimestampMicros = (kMaxDateDays + 1) * kMicrosPerDay - 1;

// Each returns nothing when the text is not of that kind or the value is out of range.
// "2024-1-2".
std::optional<int32_t> ParseDate(std::string_view text);
// "12:34:56.789" as microseconds since midnight.
std::optional<int64_t> ParseTime(std::string_view text);
// "2024-01-02[T| ]12:34:56.789" or a date alone.
std::optional<int64_t> ParseDatetime(std::string_view text);
// A datetime with an optional zone: "Z", "UTC", "+02", "+02:00"; without one, UTC.
std::optional<int64_t> ParseTimestamp(std::string_view text);

// The packed form of Google's CivilTimeEncoder (packedTimeMicros, packedDatetimeMicros).
std::optional<int64_t> TimeFromPacked(int64_t packed);
std::optional<int64_t> DatetimeFromPacked(int64_t packed);

void AppendDate(int32_t days, std::string* out);
void AppendTime(int64_t micros, std::string* out);
// "2024-01-02T12:34:56.789000"; the fraction only when there is one.
void AppendDatetime(int64_t micros, std::string* out);

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_CORE_CIVIL_TIME_H_
