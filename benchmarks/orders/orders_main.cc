// The seed's pipeline from file to file: parse JSON lines with a dead letter, 60 s windows, one event per id in its window, sums
// per store. Exactly-once epochs are on unless --no-state.
//
//   orders --input FILE [--output FILE] [--workers 2] [--json]
//
// OUTPUT (default: FILE.sums) gets "start end store total" lines in no particular order, OUTPUT.dead the malformed lines.
#include <simdjson.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/text_io.h"

namespace hornbeam::benchmarks {

struct Sale {
  std::string store;
  int64_t amount = 0;
};
HORNBEAM_CODER(Sale, store, amount)

namespace {

using Event = KV<std::string, Sale>;  // by id

const OutputTag<Event> kEvents{"events"};
const OutputTag<std::string> kDeadLetter{"dead_letter"};

class ParseEvent {
 public:
  ParseEvent() = default;
  ParseEvent(const ParseEvent&) {}  // every worker has a parser of its own

  void ProcessElement(const Slice& line, OutputReceiver<Event>& events, OutputReceiver<std::string>& dead_letters) {
    simdjson::ondemand::document document;
    std::string_view id, store;
    int64_t amount = 0, ts = 0;
    if (parser_.iterate(line.data, line.size, line.size + line.padding).get(document) ||
        document["id"].get_string().get(id) || document["store"].get_string().get(store) ||
        document["amount"].get_int64().get(amount) || document["ts"].get_int64().get(ts)) {
      dead_letters.Output(line.ToString());
      return;
    }
    events.OutputWithTimestamp({std::string(id), {std::string(store), amount}}, EventTime::FromSeconds(ts));
  }

 private:
  simdjson::ondemand::parser parser_;
};

void Build(Pipeline& pipeline, const std::string& input, const std::string& output) {
  const auto parsed =
      pipeline | "Read" >> io::ReadLines(input) | "Parse" >> ParDo(ParseEvent()).WithOutputs(kEvents, kDeadLetter);
  parsed.Get(kDeadLetter) | "WriteDeadLetters" >> io::WriteLines(output + ".dead");
  parsed.Get(kEvents) | "Watermark" >> WithWatermark(BoundedOutOfOrderness(Seconds(30), Seconds(1)))
                      | "Window" >> WindowInto(FixedWindows(Seconds(60)))
                      | "Deduplicate" >> DeduplicatePerWindow()
                      | "ByStore" >> Map([](Event&& event) {
                          return KV<std::string, int64_t>{std::move(event.value.store), event.value.amount};
                        })
                      | "Sum" >> CombinePerKey(Sum<int64_t>())
                      | "Format" >> Map([](const KV<std::string, int64_t>& sum, const ElementContext& context) {
                          return absl::StrCat(context.window().start.us / 1'000'000, " ",
                                              context.window().end.us / 1'000'000, " ", sum.key, " ", sum.value);
                        })
                      | "WriteSums" >> io::WriteLines(output);
}

int64_t OutputOf(const engine::JobSnapshot& snapshot, const std::string& step, size_t output) {
  for (const engine::StepSnapshot& s : snapshot.steps) {
    if (s.name == step) return s.elements_out[output];
  }
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Sums orders per store and minute, from a file of JSON lines to a file of sums.");
  std::string input, output;
  PipelineOptions options;
  options.workers = 2;
  bool json = false, no_state = false;
  app.add_option("--input", input, "File of JSON lines with id, store, amount, ts")->required();
  app.add_option("--output", output, "File of sums (default: INPUT.sums)");
  app.add_option("--workers", options.workers, "Worker threads");
  app.add_option("--batch-size", options.batch_size, "Elements in a batch, at most");
  app.add_flag("--json", json, "Print one JSON line");
  app.add_flag("--no-state", no_state, "Keep no state: what the epochs cost");
  CLI11_PARSE(app, argc, argv);
  if (output.empty()) output = input + ".sums";
  if (!no_state) {
    options.state_dir = output + ".state";
    std::filesystem::remove_all(options.state_dir);
  }

  Pipeline pipeline(options);
  Build(pipeline, input, output);
  const auto start = std::chrono::steady_clock::now();
  const auto job = pipeline.MakeJob();
  const Status status = job.ok() ? (*job)->Run() : job.status();
  if (!status.ok()) {
    std::fprintf(stderr, "orders: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const engine::JobSnapshot snapshot = (*job)->Snapshot();
  const int64_t events = OutputOf(snapshot, "Read", 0);
  const int64_t dead = OutputOf(snapshot, "Parse", 1);
  const int64_t duplicates = OutputOf(snapshot, "Window", 0) - OutputOf(snapshot, "Deduplicate", 0);
  const int64_t rows = OutputOf(snapshot, "Format", 0);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(json ? "{\"events\":%ld,\"dead\":%ld,\"duplicates\":%ld,\"rows\":%ld,\"seconds\":%.3f,\"events_per_s\":%.0f,"
                     "\"peak_rss_mb\":%.1f,\"epochs\":%lu,\"workers\":%d}\n"
                   : "%ld events, %ld dead letters, %ld duplicates, %ld rows in %.3f s: %.0f events/s, %.1f MB at most, "
                     "%lu epochs, %d workers\n",
              events, dead, duplicates, rows, seconds, static_cast<double>(events) / seconds,
              static_cast<double>(usage.ru_maxrss) / 1024, snapshot.sealed_epoch, snapshot.workers);
  if (!no_state) std::filesystem::remove_all(options.state_dir);
  return 0;
}

}  // namespace
}  // namespace hornbeam::benchmarks

int main(int argc, char** argv) { return hornbeam::benchmarks::Main(argc, argv); }
