#include "connectors/pubsub/event_timestamp.h"

#include <charconv>

#include "absl/time/civil_time.h"

namespace hornbeam::connectors {
namespace {

// Takes exactly `digits` digits from the front of *text.
bool TakeNumber(std::string_view* text, size_t digits, int* value) {
  if (text->size() < digits) return false;
  *value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return false;
    *value = *value * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return true;
}

bool TakeOneOf(std::string_view* text, std::string_view characters) {
  if (text->empty() || characters.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

bool TakeFraction(std::string_view* text, int64_t* us) {
  *us = 0;
  if (text->empty() || text->front() != '.') return true;
  text->remove_prefix(1);
  size_t digits = 0;
  for (int64_t unit = 100'000; digits < text->size(); ++digits, unit /= 10) {
    const char c = (*text)[digits];
    if (c < '0' || c > '9') break;
    *us += (c - '0') * unit;
  }
  text->remove_prefix(digits);
  return digits > 0;
}

bool TakeOffset(std::string_view* text, int64_t* seconds) {
  *seconds = 0;
  if (TakeOneOf(text, "Zz")) return true;
  if (text->empty()) return false;
  const bool west = text->front() == '-';
  int hours = 0;
  int minutes = 0;
  if (!TakeOneOf(text, "+-") || !TakeNumber(text, 2, &hours) || !TakeOneOf(text, ":") ||
      !TakeNumber(text, 2, &minutes) || hours > 23 || minutes > 59) {
    return false;
  }
  *seconds = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

std::optional<model::EventTime> InRange(int64_t us) {
  if (us < model::kMinEventTimeUs || us > model::EventTime::EndOfGlobalWindow().us) return {};
  return model::EventTime{us};
}

}  // namespace

std::optional<model::EventTime> ParseEventTimestamp(std::string_view text) {
  if (text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) ==
      std::string_view::npos) {
    int64_t ms = 0;
    int64_t us = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
    if (error != std::errc() || end != text.data() + text.size() ||
        __builtin_mul_overflow(ms, int64_t{1000}, &us)) {
      return {};
    }
    return InRange(us);
  }
  int year, month, day, hour, minute, second;
  int64_t fraction_us, offset_s;
  if (!TakeNumber(&text, 4, &year) || !TakeOneOf(&text, "-") || !TakeNumber(&text, 2, &month) ||
      !TakeOneOf(&text, "-") || !TakeNumber(&text, 2, &day) || !TakeOneOf(&text, "Tt ") ||
      !TakeNumber(&text, 2, &hour) || !TakeOneOf(&text, ":") || !TakeNumber(&text, 2, &minute) ||
      !TakeOneOf(&text, ":") || !TakeNumber(&text, 2, &second) ||
      !TakeFraction(&text, &fraction_us) || !TakeOffset(&text, &offset_s) || !text.empty()) {
    return {};
  }
  const absl::CivilDay date(year, month, day);
  // A civil day that had to be put right did not exist; a leap second is taken as the next one.
  if (date.month() != month || date.day() != day || hour > 23 || minute > 59 || second > 60) {
    return {};
  }
  const int64_t seconds = (date - absl::CivilDay(1970, 1, 1)) * int64_t{86'400} + hour * 3600 +
                          minute * 60 + second - offset_s;
  return InRange(seconds * 1'000'000 + fraction_us);
}

}  // namespace hornbeam::connectors
