#include "cli/demo/flight.h"

#include <simdjson.h>

#include <stdexcept>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace hornbeam::cli {
namespace {

namespace ondemand = simdjson::ondemand;

[[noreturn]] void Fail(absl::string_view field, absl::string_view what) {
  throw std::runtime_error(absl::StrCat("field '", field, "' ", what));
}

ondemand::value Find(ondemand::object& object, const char* field) {
  ondemand::value value;
  if (object[field].get(value) != simdjson::SUCCESS) Fail(field, "is missing");
  return value;
}

std::string Text(ondemand::object& object, const char* field) {
  std::string_view text;
  if (Find(object, field).get_string().get(text) != simdjson::SUCCESS)
    Fail(field, "must be a string");
  return std::string(text);
}

int64_t Integer(ondemand::object& object, const char* field) {
  int64_t number = 0;
  if (Find(object, field).get_int64().get(number) != simdjson::SUCCESS)
    Fail(field, "must be a whole number");
  return number;
}

model::EventTime Time(ondemand::object& object, const char* field) {
  const std::string text = Text(object, field);
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr))
    Fail(field, "must be a time as in RFC 3339");
  return {absl::ToUnixMicros(time)};
}

}  // namespace

std::string ToJson(const Flight& flight) {
  return absl::StrCat(
      "{\"event_id\":\"", flight.event_id, "\",\"scheduled\":\"", model::ToString(flight.scheduled),
      "\",\"carrier\":\"", flight.carrier, "\",\"flight\":", flight.flight, ",\"tail\":\"",
      flight.tail, "\",\"origin\":\"", flight.origin, "\",\"dest\":\"", flight.dest,
      "\",\"dep_delay_min\":", flight.cancelled() ? "null" : absl::StrCat(*flight.dep_delay_min),
      ",\"distance_miles\":", flight.distance_miles, "}");
}

struct FlightParser::Impl {
  ondemand::parser parser;
  std::string padded;  // the text with the room behind it that simdjson wants
};

FlightParser::FlightParser() : impl_(std::make_unique<Impl>()) {}
FlightParser::FlightParser(const FlightParser&) : FlightParser() {}
FlightParser::~FlightParser() = default;

Flight FlightParser::Parse(const std::string& json) {
  impl_->padded.assign(json);
  impl_->padded.resize(json.size() + simdjson::SIMDJSON_PADDING);
  ondemand::document document;
  ondemand::object object;
  const simdjson::padded_string_view view(impl_->padded.data(), json.size(), impl_->padded.size());
  simdjson::error_code error = impl_->parser.iterate(view).get(document);
  if (error == simdjson::SUCCESS) error = document.get_object().get(object);
  if (error != simdjson::SUCCESS)
    throw std::runtime_error(absl::StrCat("no JSON object: ", simdjson::error_message(error)));

  Flight flight;
  flight.event_id = Text(object, "event_id");
  flight.scheduled = Time(object, "scheduled");
  flight.carrier = Text(object, "carrier");
  flight.flight = Integer(object, "flight");
  flight.tail = Text(object, "tail");
  flight.origin = Text(object, "origin");
  flight.dest = Text(object, "dest");
  ondemand::value delay = Find(object, "dep_delay_min");
  int64_t minutes = 0;
  if (delay.get_int64().get(minutes) == simdjson::SUCCESS) {
    flight.dep_delay_min = minutes;
  } else if (!delay.is_null()) {
    Fail("dep_delay_min", "must be a whole number or null");
  }
  flight.distance_miles = Integer(object, "distance_miles");
  return flight;
}

}  // namespace hornbeam::cli
