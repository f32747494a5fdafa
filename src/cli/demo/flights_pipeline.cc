#include "cli/demo/flights_pipeline.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/demo/departures.h"
#include "cli/demo/flight.h"
#include "cli/demo/flight_replay.h"
#include "hornbeam/io/bigquery_io.h"
#include "hornbeam/io/pubsub_io.h"

namespace hornbeam::cli {
namespace {

using io::ColumnMode;
using io::ColumnType;
using io::RowContext;
using io::RowWriter;

// Most flights leave within two hours of their time: an hour's first result comes two hours after
// it, and the few that leave later correct it, for up to two days.
constexpr Duration kUsualDelay = Hours(2);
constexpr Duration kAllowedLateness = Hours(48);

struct DeadLetter {
  std::string step;
  std::string error;
  std::string payload;
};
HORNBEAM_CODER(DeadLetter, step, error, payload)

class ParseFlight {
 public:
  void ProcessElement(const std::string& json, OutputReceiver<Flight>& out) {
    out.Output(parser_.Parse(json));
  }

 private:
  FlightParser parser_;
};

io::TableSchema EventsSchema() {
  return {{{"event_id", ColumnType::kString, ColumnMode::kRequired},
           {"event_date", ColumnType::kDate},
           {"scheduled", ColumnType::kTimestamp},
           {"carrier", ColumnType::kString},
           {"flight", ColumnType::kInt64},
           {"tail", ColumnType::kString},
           {"origin", ColumnType::kString},
           {"dest", ColumnType::kString},
           {"dep_delay_min", ColumnType::kInt64},
           {"cancelled", ColumnType::kBool},
           {"distance_miles", ColumnType::kInt64}}};
}

void WriteEventRow(const Flight& flight, RowWriter& row) {
  row.Set("event_id", flight.event_id);
  row.Set("event_date", flight.scheduled);
  row.Set("scheduled", flight.scheduled);
  row.Set("carrier", flight.carrier);
  row.Set("flight", flight.flight);
  if (!flight.tail.empty()) row.Set("tail", flight.tail);
  row.Set("origin", flight.origin);
  row.Set("dest", flight.dest);
  row.Set("dep_delay_min", flight.dep_delay_min);
  row.Set("cancelled", flight.cancelled());
  row.Set("distance_miles", flight.distance_miles);
}

io::TableSchema HourlySchema() {
  return {{{"origin", ColumnType::kString},
           {"event_date", ColumnType::kDate},
           {"hour", ColumnType::kTimestamp},
           {"flights", ColumnType::kInt64},
           {"cancelled", ColumnType::kInt64},
           {"delayed", ColumnType::kInt64},
           {"mean_delay_min", ColumnType::kFloat64},
           {"max_delay_min", ColumnType::kInt64},
           {"pane", ColumnType::kInt64},
           {"timing", ColumnType::kString}}};
}

const char* TimingText(PaneTiming timing) {
  switch (timing) {
    case PaneTiming::kEarly: return "early";
    case PaneTiming::kOnTime: return "on time";
    case PaneTiming::kLate: return "late";
    case PaneTiming::kUnknown: break;
  }
  return "unknown";
}

void WriteHourlyRow(const KV<std::string, Departures>& hourly, const RowContext& context,
                    RowWriter& row) {
  const Departures& sums = hourly.value;
  row.Set("origin", hourly.key);
  row.Set("event_date", context.window.start);
  row.Set("hour", context.window.start);
  row.Set("flights", sums.flights);
  row.Set("cancelled", sums.cancelled);
  row.Set("delayed", sums.delayed);
  row.Set("mean_delay_min", sums.mean_delay_min());
  row.Set("max_delay_min", sums.delay_max_min);
  row.Set("pane", context.pane.index);
  row.Set("timing", TimingText(context.pane.timing));
}

io::TableSchema DeadLettersSchema() {
  return {{{"event_date", ColumnType::kDate},
           {"event_time", ColumnType::kTimestamp},
           {"step", ColumnType::kString},
           {"error", ColumnType::kString},
           {"payload", ColumnType::kString}}};
}

void WriteDeadLetterRow(const DeadLetter& letter, const RowContext& context, RowWriter& row) {
  row.Set("event_date", context.timestamp);
  row.Set("event_time", context.timestamp);
  row.Set("step", letter.step);
  row.Set("error", letter.error);
  row.Set("payload", letter.payload);
}

io::BigQueryWriteOptions Table(const FlightsPipelineOptions& options, const char* name,
                               io::TableSchema schema, std::vector<std::string> clustering) {
  return {.table = absl::StrCat(options.dataset, ".", name),
          .schema = std::move(schema),
          .partition_column = "event_date",
          .clustering_columns = std::move(clustering),
          .grpc_endpoint = options.bigquery_grpc_endpoint,
          .rest_endpoint = absl::StrCat("http://", options.bigquery_rest_endpoint)};
}

auto DeadLetterOfRow() {
  return Map([](const io::FailedRow& failed) {
    return DeadLetter{failed.table, failed.error, failed.row};
  });
}

}  // namespace

void BuildFlightsPipeline(const FlightsPipelineOptions& options, Pipeline* pipeline) {
  const auto parsed =
      *pipeline |
      kReadStep >> io::ReadFromPubsub(
                       {.subscription = options.subscription,
                        .id_attribute = kEventIdAttribute,
                        .timestamp_attribute = kEventTimeAttribute,
                        .watermark = io::PubsubWatermarkPolicy::BoundedOutOfOrderness(kUsualDelay),
                        .endpoint = options.pubsub_endpoint}) |
      "Payload" >> Map([](const io::PubsubMessage& message) { return message.data; }) |
      kParseStep >> ParDo<Flight>(ParseFlight()).WithFailures();
  const PCollection<Flight> flights = parsed.main();

  const auto events =
      flights |
      kWriteEventsStep >>
          io::WriteToBigQuery<Flight>(
              Table(options, "events", EventsSchema(), {"origin", "carrier"}), WriteEventRow);

  const auto hourly =
      flights |
      "Hourly/Windows" >>
          WindowInto(FixedWindows(Hours(1)))
              .Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(1)))
              .WithAllowedLateness(kAllowedLateness)
              .AccumulatingFiredPanes() |
      "Hourly/ByOrigin" >> Map([](const Flight& flight) {
        return KV{flight.origin, Departures::Of(flight)};
      }) |
      "Hourly/Departures" >> CombinePerKey(AddDepartures()) |
      "WriteHourly" >> io::WriteToBigQuery<KV<std::string, Departures>>(
                           Table(options, "hourly", HourlySchema(), {"origin"}), WriteHourlyRow);

  const auto of_messages =
      parsed.failures() | "DeadLetters/OfMessages" >> Map([](const FailedElement& failed) {
                            return DeadLetter{failed.transform, failed.error, failed.element};
                          });
  const auto of_events = events.failed_rows() | "DeadLetters/OfEvents" >> DeadLetterOfRow();
  const auto of_hourly = hourly.failed_rows() | "DeadLetters/OfHourly" >> DeadLetterOfRow();
  Flatten<DeadLetter>("DeadLetters/All", {of_messages, of_events, of_hourly}) |
      "WriteDeadLetters" >>
          io::WriteToBigQuery<DeadLetter>(
              Table(options, "dead_letters", DeadLettersSchema(), {"step"}), WriteDeadLetterRow);
}

}  // namespace hornbeam::cli
