// Runs the orders pipeline on a scripted stream: six messages, one malformed and one delivered twice, then a late one. Prints
// the table for two allowed latenesses.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/test_stream.h"
#include "orders/orders_pipeline.h"

namespace hornbeam::examples {
namespace {

const std::vector<std::string> kMessages = {
    R"({"id": "e1", "store": "hyd", "amount": 100, "ts": 5})",
    R"({"id": "e2", "store": "hyd", "amount": 50, "ts": 20})",
    R"({"id": "e2", "store": "hyd", "amount": 50, "ts": 20})",  // the same message delivered twice
    "not json at all",                                          // a malformed message
    R"({"id": "e3", "store": "blr", "amount": 70, "ts": 40})",
    R"({"id": "e4", "store": "hyd", "amount": 30, "ts": 70})",
};
const char kLate[] = R"({"id": "e5", "store": "hyd", "amount": 20, "ts": 50})";  // after its window has closed

StatusOr<std::vector<std::string>> RunOnce(Duration allowed_lateness) {
  Pipeline pipeline;
  Collector<std::string> table;
  const auto payloads = pipeline | "Messages" >> TestStream<std::string>()
                                                     .AdvanceWatermarkTo(EventTime::FromSeconds(0))
                                                     .AddElements(kMessages)
                                                     .AdvanceWatermarkTo(EventTime::FromSeconds(125))  // both windows are past
                                                     .AddElements({kLate})
                                                     .AdvanceWatermarkToInfinity();
  const OrderLines lines = SumOrders(payloads, allowed_lateness);
  lines.dead_letters | "WriteDeadLetters" >> Collect(&table);
  Collector<std::string> totals;
  lines.totals | "WriteTotals" >> Collect(&totals);
  HB_RETURN_IF_ERROR(pipeline.Run());

  std::vector<std::string> sorted = table.values();
  for (std::string& line : totals.values()) sorted.push_back(std::move(line));
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

int Main() {
  for (const int64_t lateness : {0, 600}) {
    std::printf("allowed lateness %d seconds\n", static_cast<int>(lateness));
    const StatusOr<std::vector<std::string>> lines = RunOnce(Seconds(lateness));
    if (!lines.ok()) {
      std::fprintf(stderr, "orders_test_stream: %s\n", std::string(lines.status().message()).c_str());
      return 1;
    }
    for (const std::string& line : *lines) std::printf("  %s\n", line.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace hornbeam::examples

int main() { return hornbeam::examples::Main(); }
