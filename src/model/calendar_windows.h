// Windows of days, months or years of a time zone's calendar, as Beam's CalendarWindows: a day there may have 23 or 25 hours, a
// month 28 to 31 days. Weeks are windows of seven days.
#ifndef HORNBEAM_MODEL_CALENDAR_WINDOWS_H_
#define HORNBEAM_MODEL_CALENDAR_WINDOWS_H_

#include <memory>
#include <string>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "model/window.h"

namespace hornbeam::model {

class CalendarWindows final : public CustomWindowFn {
 public:
  enum class Unit { kDay, kMonth, kYear };

  // Windows of `count` units, one of which begins at the start of `first` (its day, for days; for months and years the day of the
  // month, or of the year, on which they begin). `time_zone` by its IANA name. INVALID_ARGUMENT for a count below one, a zone that
  // the machine does not know, and a first day behind the 28th where windows are months, since not every month has it.
  static StatusOr<WindowFn> Make(Unit unit, int count, absl::CivilDay first, const std::string& time_zone);

  std::string Describe() const override;
  bool is_partition() const override { return true; }
  Window AssignOne(EventTime t) const override;

 private:
  CalendarWindows(Unit unit, int count, absl::CivilDay first, absl::TimeZone zone)
      : unit_(unit), count_(count), first_(first), zone_(zone) {}

  // The first day of the n-th window from `first_`.
  absl::CivilDay StartOf(int64_t n) const;
  EventTime Midnight(absl::CivilDay day) const;

  const Unit unit_;
  const int count_;
  const absl::CivilDay first_;
  const absl::TimeZone zone_;
};

}  // namespace hornbeam::model

#endif  // HORNBEAM_MODEL_CALENDAR_WINDOWS_H_
