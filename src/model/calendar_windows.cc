#include "model/calendar_windows.h"

#include "absl/strings/str_cat.h"

namespace hornbeam::model {
namespace {

// What event times can be, in whole days on the safe side: civil arithmetic beyond it means nothing.
EventTime Clamp(absl::Time t) { return EventTime::FromMicros(absl::ToUnixMicros(t)); }

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);  // b > 0
}

}  // namespace

StatusOr<WindowFn> CalendarWindows::Make(Unit unit, int count, absl::CivilDay first, const std::string& time_zone) {
  if (count < 1) {
    return absl::InvalidArgumentError(absl::StrCat("calendar windows of ", count, " units cannot be; the number must be above zero"));
  }
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(time_zone, &zone)) {
    return absl::InvalidArgumentError(absl::StrCat("this machine knows no time zone '", time_zone,
                                                   "'; give an IANA name such as Europe/Berlin, and see that tzdata is installed"));
  }
  if (unit != Unit::kDay && first.day() > 28) {
    return absl::InvalidArgumentError(absl::StrCat("calendar windows cannot begin on day ", first.day(),
                                                   " of a month, which not every month has; take one up to 28"));
  }
  return WindowFn::Custom(std::shared_ptr<const CustomWindowFn>(new CalendarWindows(unit, count, first, zone)));
}

std::string CalendarWindows::Describe() const {
  const char* const units[] = {"days", "months", "years"};
  return absl::StrCat("calendar ", count_, " ", units[static_cast<int>(unit_)], " from ", absl::FormatCivilTime(first_), " ",
                      zone_.name());
}

absl::CivilDay CalendarWindows::StartOf(int64_t n) const {
  switch (unit_) {
    case Unit::kDay: return first_ + n * count_;
    case Unit::kMonth: {
      const absl::CivilMonth month = absl::CivilMonth(first_) + n * count_;
      return absl::CivilDay(month.year(), month.month(), first_.day());
    }
    case Unit::kYear: return absl::CivilDay(first_.year() + n * count_, first_.month(), first_.day());
  }
  return first_;
}

EventTime CalendarWindows::Midnight(absl::CivilDay day) const { return Clamp(absl::FromCivil(absl::CivilSecond(day), zone_)); }

Window CalendarWindows::AssignOne(EventTime t) const {
  const absl::CivilDay day = absl::ToCivilDay(absl::FromUnixMicros(t.us), zone_);
  int64_t units = 0;
  switch (unit_) {
    case Unit::kDay: units = day - first_; break;
    case Unit::kMonth: units = absl::CivilMonth(day) - absl::CivilMonth(first_); break;
    case Unit::kYear: units = day.year() - first_.year(); break;
  }
  // Of months and years the day may still be before the one on which they begin.
  int64_t n = FloorDivide(units, count_);
  while (n > INT32_MIN && StartOf(n) > day) --n;
  while (n < INT32_MAX && StartOf(n + 1) <= day) ++n;
  // Where a day has no midnight, it begins a little later: an instant before that lies in the day before.
  return {Midnight(StartOf(n)), std::min(Midnight(StartOf(n + 1)), EventTime::EndOfGlobalWindow() + Micros(1))};
}

}  // namespace hornbeam::model
