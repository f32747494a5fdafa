// Orders as JSON lines, from files to files: CSV, a file for each minute of event time.
//
//   orders_to_files 'in/*.jsonl.gz' out/orders     # writes out/orders-05:00-05:01-0.csv and so on
//   orders_to_files                                # a few orders, in a temporary folder
//
// A line is {"id": "e1", "store": "hyd", "amount": 100, "ts": 5}, with the event time in seconds.
// What is no such line is listed.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/io/csv_io.h"
#include "hornbeam/io/json_io.h"
#include "hornbeam/io/write_files.h"
#include "hornbeam/testing/collector.h"

namespace hornbeam::examples {
namespace {

using Fields = std::vector<std::string>;

constexpr char kOrders[] = R"({"id": "e1", "store": "hyd", "amount": 100, "ts": 5}
{"id": "e2", "store": "hyd, the fort", "amount": 50, "ts": 20}
not json at all
{"id": "e3", "store": "blr", "amount": 70, "ts": 40}
{"id": "e4", "store": "hyd", "amount": 30, "ts": 70}
{"id": "e5", "store": "hyd", "ts": 50}
)";

// Stamps the order with its time. An order without one of its fields throws, and is a failure.
void ToFields(const io::Json& order, OutputReceiver<Fields>& out) {
  out.OutputWithTimestamp({order.at("id").get<std::string>(), order.at("store").get<std::string>(),
                           absl::StrCat(order.at("amount").get<int64_t>())},
                          EventTime::FromSeconds(order.at("ts").get<int64_t>()));
}

// Gives what was written and, of each failure, why.
Status WriteOrders(const std::string& pattern, const std::string& output,
                   Collector<io::FileResult>* files, Collector<std::string>* failures) {
  Pipeline pipeline;
  const auto lines = pipeline | "Read" >> io::ReadJsonLines(pattern);
  const auto orders = lines.main() | "Order" >> ParDo<Fields>(ToFields).WithFailures();
  const auto written =
      orders.main() | "Minutes" >> WindowInto(FixedWindows(Minutes(1))) |
      "Write" >> io::WriteFiles<Fields>(output, io::CsvFormat({"id", "store", "amount"}))
                     .WithNaming(io::TimeOfDayFileNaming(output, ".csv"));
  written.files | "Files" >> Collect(files);
  Flatten("Failures",
          std::vector<PCollection<FailedElement>>{lines.failures(), orders.failures()}) |
      "Why" >> Map([](const FailedElement& failure) { return failure.error; }) |
      "Collect" >> Collect(failures);
  return pipeline.Run();
}

Status Run(const std::string& pattern, const std::string& output, bool show_contents) {
  Collector<io::FileResult> files;
  Collector<std::string> failures;
  HB_RETURN_IF_ERROR(WriteOrders(pattern, output, &files, &failures));
  std::map<std::string, io::FileResult> by_path;
  for (const io::FileResult& file : files.values()) by_path[file.path] = file;
  for (const auto& [path, file] : by_path) {
    std::printf("%s: %d orders\n", std::filesystem::path(path).filename().c_str(),
                static_cast<int>(file.records));
    if (!show_contents) continue;
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    std::printf("  %s\n", line.c_str());
    std::vector<std::string> rows;
    while (std::getline(in, line)) rows.push_back(line);
    std::sort(rows.begin(), rows.end());
    for (const std::string& row : rows) std::printf("  %s\n", row.c_str());
  }
  std::printf("%d failures\n", static_cast<int>(failures.values().size()));
  return absl::OkStatus();
}

Status RunInTemporaryFolder() {
  const std::string folder = absl::StrCat(std::filesystem::temp_directory_path().string(),
                                          "/hornbeam-windowed-files-", ::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/orders.jsonl") << kOrders;
  const Status status = Run(folder + "/*.jsonl", folder + "/out/orders", true);
  std::filesystem::remove_all(folder);
  return status;
}

int Main(int argc, char** argv) {
  if (argc != 1 && argc != 3) {
    std::fprintf(stderr, "usage: orders_to_files [PATTERN OUTPUT]\n");
    return 2;
  }
  const Status status = argc == 3 ? Run(argv[1], argv[2], false) : RunInTemporaryFolder();
  if (!status.ok())
    std::fprintf(stderr, "orders_to_files: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace hornbeam::examples

int main(int argc, char** argv) { return hornbeam::examples::Main(argc, argv); }
