#include "crash_pipeline.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "hornbeam/io/bigquery_io.h"
#include "hornbeam/io/pubsub_io.h"

namespace hornbeam::crash {
namespace {

using io::ColumnMode;
using io::ColumnType;
using io::RowContext;
using io::RowWriter;

// What the publisher keeps to (event_stream.py), with room: an undisturbed run has no late panes.
constexpr Duration kDisorder = Minutes(2);
// A crash may bring messages after any number of later ones; none may be too late to be counted.
constexpr Duration kAllowedLateness = Hours(48);

struct Event {
  std::string id;
  std::string key;
  int64_t value = 0;
};

struct DeadLetter {
  std::string step;
  std::string error;
  std::string payload;
};
HORNBEAM_CODER(DeadLetter, step, error, payload)

struct Totals {
  int64_t events = 0;
  int64_t sum = 0;
};
HORNBEAM_CODER(Totals, events, sum)

struct AddTotals {
  using InputT = Totals;
  using AccumulatorT = Totals;
  using OutputT = Totals;
  Totals CreateAccumulator() const { return {}; }
  void AddInput(Totals& into, const Totals& from) const { MergeAccumulators(into, from); }
  void MergeAccumulators(Totals& into, const Totals& from) const {
    into.events += from.events;
    into.sum += from.sum;
  }
  Totals ExtractOutput(const Totals& totals) const { return totals; }
};

// Throws where `text` is no event.
void ParseEvent(const std::string& text, OutputReceiver<Event>& out) {
  const nlohmann::json json = nlohmann::json::parse(text);
  out.Output({json.at("id").get<std::string>(), json.at("key").get<std::string>(),
              json.at("value").get<int64_t>()});
}

io::BigQueryWriteOptions Table(const CrashPipelineOptions& options, const char* name,
                               io::TableSchema schema) {
  io::BigQueryWriteOptions write;
  write.table = absl::StrCat(options.dataset, ".", name);
  write.schema = std::move(schema);
  write.grpc_endpoint = options.bigquery_grpc_endpoint;
  write.rest_endpoint = absl::StrCat("http://", options.bigquery_rest_endpoint);
  return write;
}

PCollection<io::FailedRow> WriteRaw(const CrashPipelineOptions& options,
                                    const PCollection<Event>& events) {
  const io::TableSchema schema{{{"id", ColumnType::kString, ColumnMode::kRequired},
                                {"key", ColumnType::kString},
                                {"value", ColumnType::kInt64},
                                {"event_ms", ColumnType::kInt64}}};
  return (events |
          "WriteRaw" >> io::WriteToBigQuery<Event>(
                            Table(options, "raw", schema),
                            [](const Event& event, const RowContext& context, RowWriter& row) {
                              row.Set("id", event.id);
                              row.Set("key", event.key);
                              row.Set("value", event.value);
                              row.Set("event_ms", context.timestamp.us / 1000);
                            }))
      .failed_rows();
}

PCollection<io::FailedRow> WriteSums(const CrashPipelineOptions& options,
                                     const PCollection<Event>& events) {
  const io::TableSchema schema{{{"key", ColumnType::kString},
                                {"minute_ms", ColumnType::kInt64},
                                {"pane", ColumnType::kInt64},
                                {"events", ColumnType::kInt64},
                                {"sum", ColumnType::kInt64}}};
  const auto sums =
      events |
      "Minutes" >> WindowInto(FixedWindows(Minutes(1)))
                       .Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(1)))
                       .WithAllowedLateness(kAllowedLateness)
                       .AccumulatingFiredPanes() |
      "ByKey" >> Map([](const Event& event) {
        return KV{event.key, Totals{1, event.value}};
      }) |
      "Sum" >> CombinePerKey(AddTotals());
  return (sums | "WriteSums" >> io::WriteToBigQuery<KV<std::string, Totals>>(
                                    Table(options, "sums", schema),
                                    [](const KV<std::string, Totals>& sum,
                                       const RowContext& context, RowWriter& row) {
                                      row.Set("key", sum.key);
                                      row.Set("minute_ms", context.window.start.us / 1000);
                                      row.Set("pane", context.pane.index);
                                      row.Set("events", sum.value.events);
                                      row.Set("sum", sum.value.sum);
                                    }))
      .failed_rows();
}

auto DeadLetterOfRow() {
  return Map([](const io::FailedRow& row) { return DeadLetter{row.table, row.error, row.row}; });
}

}  // namespace

void BuildCrashPipeline(const CrashPipelineOptions& options, Pipeline* pipeline) {
  const io::PubsubReadResult read =
      *pipeline |
      "Read" >> io::ReadFromPubsub(
                    {.subscription = options.subscription,
                     .id_attribute = "event_id",
                     .timestamp_attribute = "event_time",
                     .watermark = io::PubsubWatermarkPolicy::BoundedOutOfOrderness(kDisorder),
                     .endpoint = options.pubsub_endpoint})
                    .WithDeadLetters();
  const auto parsed = read.messages |
                      "Payload" >> Map([](const io::PubsubMessage& m) { return m.data; }) |
                      "Parse" >> ParDo<Event>(ParseEvent).WithFailures();

  const auto untimed =
      read.dead_letters | "DeadLetters/Untimed" >> Map([](const io::PubsubMessage& m) {
                            return DeadLetter{"Read", m.timestamp_error, m.data};
                          });
  const auto unparsed =
      parsed.failures() | "DeadLetters/Unparsed" >> Map([](const FailedElement& f) {
                            return DeadLetter{f.transform, f.error, f.element};
                          });
  const auto raw = WriteRaw(options, parsed.main()) | "DeadLetters/OfRaw" >> DeadLetterOfRow();
  const auto sums = WriteSums(options, parsed.main()) | "DeadLetters/OfSums" >> DeadLetterOfRow();

  const io::TableSchema schema{{{"step", ColumnType::kString},
                                {"error", ColumnType::kString},
                                {"payload", ColumnType::kString}}};
  Flatten<DeadLetter>("DeadLetters/All", {untimed, unparsed, raw, sums}) |
      "WriteDeadLetters" >>
          io::WriteToBigQuery<DeadLetter>(Table(options, "dead_letters", schema),
                                          [](const DeadLetter& letter, RowWriter& row) {
                                            row.Set("step", letter.step);
                                            row.Set("error", letter.error);
                                            row.Set("payload", letter.payload);
                                          });
}

}  // namespace hornbeam::crash
