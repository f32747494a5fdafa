#include "orders/orders_pipeline.h"

#include <simdjson.h>

#include <vector>

#include "absl/strings/str_format.h"

namespace hornbeam::examples {
namespace {

const OutputTag<Order> kOrders{"orders"};
const OutputTag<std::string> kDeadLetter{"dead_letter"};

class ParseOrder {
 public:
  ParseOrder() = default;
  ParseOrder(const ParseOrder&) {}  // a parser's memory is its own: every worker has one

  void ProcessElement(const std::string& payload, OutputReceiver<Order>& orders,
                      OutputReceiver<std::string>& dead_letters) {
    padded_.assign(payload);
    padded_.reserve(payload.size() + simdjson::SIMDJSON_PADDING);
    simdjson::ondemand::document document;
    std::string_view id, store;
    Order order;
    int64_t ts = 0;
    if (parser_.iterate(padded_.data(), padded_.size(), padded_.capacity()).get(document) ||
        document["id"].get_string().get(id) || document["store"].get_string().get(store) ||
        document["amount"].get_int64().get(order.amount) || document["ts"].get_int64().get(ts)) {
      dead_letters.Output(payload);
      return;
    }
    const EventTime at = EventTime::FromSeconds(ts);  // event time comes from the message
    if (at <= EventTime::Min() || at >= EventTime::EndOfGlobalWindow()) {
      dead_letters.Output(payload);  // milliseconds or worse: no such time
      return;
    }
    order.id = id;
    order.store = store;
    orders.OutputWithTimestamp(std::move(order), at);
  }

 private:
  simdjson::ondemand::parser parser_;
  std::string padded_;
};

std::string TotalLine(const KV<std::string, int64_t>& total, const ElementContext& context) {
  return absl::StrFormat("window %3d-%3d  store %s  total %3d  %s", context.window().start.us / 1'000'000,
                         context.window().end.us / 1'000'000, total.key, total.value,
                         context.pane().timing == PaneTiming::kLate ? "late update" : "on time");
}

}  // namespace

OrderLines SumOrders(const PCollection<std::string>& payloads, Duration allowed_lateness) {
  const auto parsed = payloads | "Parse" >> ParDo(ParseOrder()).WithOutputs(kOrders, kDeadLetter);

  const auto dead_letters =
      parsed.Get(kDeadLetter) | "DeadLetter" >> Map([](const std::string& payload) { return "dead letter: " + payload; });

  const auto totals =
      parsed.Get(kOrders)
      | "Window" >> WindowInto(FixedWindows(Seconds(60)))
                        .Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(1)))
                        .WithAllowedLateness(allowed_lateness)
                        .AccumulatingFiredPanes()
      | "KeyById" >> WithKeys([](const Order& order) { return order.id; })
      | "GroupById" >> GroupByKey()
      | "KeepOne" >> Map([](const KV<std::string, std::vector<Order>>& group) {
          return KV<std::string, int64_t>{group.value[0].store, group.value[0].amount};
        })
      | "SumPerStore" >> CombinePerKey(Sum<int64_t>())
      | "Row" >> Map(TotalLine);
  return {dead_letters, totals};
}

}  // namespace hornbeam::examples
