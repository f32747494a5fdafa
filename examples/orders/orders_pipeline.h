// The Pub/Sub to BigQuery pattern: parse with a dead letter, one event per id, sums per store and minute, late updates.
#ifndef HORNBEAM_EXAMPLES_ORDERS_ORDERS_PIPELINE_H_
#define HORNBEAM_EXAMPLES_ORDERS_ORDERS_PIPELINE_H_

#include <cstdint>
#include <string>

#include "hornbeam/hornbeam.h"

namespace hornbeam::examples {

struct Order {
  std::string id;
  std::string store;
  int64_t amount = 0;
};
HORNBEAM_CODER(Order, id, store, amount)

// The lines that the pattern writes: dead letters as they came, and a line per pane of a store's window.
struct OrderLines {
  PCollection<std::string> dead_letters;
  PCollection<std::string> totals;
};

// `payloads`: one JSON object each, with id, store, amount and ts (event time in seconds).
OrderLines SumOrders(const PCollection<std::string>& payloads, Duration allowed_lateness);

}  // namespace hornbeam::examples

#endif  // HORNBEAM_EXAMPLES_ORDERS_ORDERS_PIPELINE_H_
