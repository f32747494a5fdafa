// Reads flights.csv of the data set nycflights13 (CC0): every departure from New York's three
// airports in 2013.
#ifndef HORNBEAM_CLI_DEMO_FLIGHTS_CSV_H_
#define HORNBEAM_CLI_DEMO_FLIGHTS_CSV_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/demo/flight.h"

namespace hornbeam::cli {

// share/flights.csv beside the running program.
std::string FlightsCsvPath();

// The flights in the order in which they actually happened. The file's times are New York's local
// ones, without a zone; here they are taken as if they were UTC, so that an hour of the table is an
// hour of the timetable. DATA_LOSS names the line.
StatusOr<std::vector<Flight>> ParseFlightsCsv(std::string_view text);
StatusOr<std::vector<Flight>> ReadFlightsCsv(const std::string& path);

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_DEMO_FLIGHTS_CSV_H_
