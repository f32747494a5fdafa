#include "soak_pipeline.h"

#include <memory>
#include <string>
#include <utility>

#include "connectors/files/line_writer.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/state.h"
#include "hornbeam/transforms/side_input.h"
#include "pace.h"
#include "paced_reader.h"
#include "slow_writer.h"
#include "soak_rows.h"

namespace hornbeam::soak {
namespace {

constexpr int kEventReaders = 4;
constexpr int kPriceReader = kEventReaders;
constexpr int kReaders = kEventReaders + 1;

using KeyedTotals = KV<std::string, Totals>;

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

// Gathers by key and window, and puts out what there is half a second after it has begun to gather, at the end of the window, and
// when the window expires.
struct FlushByTimers : StatefulDoFn {
  ValueState<Totals> gathered{"gathered"};
  EventTimer at_end{"at_end"};
  ProcessingTimer soon{"soon"};

  void ProcessElement(const KeyedTotals& element, const ElementContext& context, OutputReceiver<KeyedTotals>&) {
    if (gathered.IsEmpty()) {
      at_end.Set(context.window().MaxTimestamp());
      soon.Set(context.processing_time() + Millis(500));
    }
    Totals totals = gathered.Read();
    AddTotals().MergeAccumulators(totals, element.value);
    gathered.Write(totals);
  }
  void OnTimer(const std::string& key, const TimerContext&, OutputReceiver<KeyedTotals>& out) { Flush(key, out); }
  void OnWindowExpiration(const std::string& key, const ExpirationContext&, OutputReceiver<KeyedTotals>& out) { Flush(key, out); }

 private:
  void Flush(const std::string& key, OutputReceiver<KeyedTotals>& out) {
    if (gathered.IsEmpty()) return;
    out.Output({key, gathered.Read()});
    gathered.Clear();
  }
};

Read<Event> ReadEvents(const SoakPipelineOptions& options, const std::shared_ptr<Pace>& pace) {
  return Read<Event>("test:transform:soak_events:v1", kEventReaders, false,
                     [options, pace](uint32_t split, engine::JobContext*) -> StatusOr<std::unique_ptr<engine::Reader>> {
                       const SoakPlan plan = options.plan;
                       const SoakFaults faults = options.faults;
                       PacedSequence<Event> events;
                       events.begin = split;
                       events.end = plan.events;
                       events.stride = kEventReaders;
                       events.slack = kSlack;
                       events.due = [plan](int64_t n) { return EventDue(plan, n); };
                       events.append = [plan, faults](int64_t n, engine::TypedBatch<Event>* batch) {
                         const TimedEvent timed = EventOf(plan, n);
                         const int copies = n == faults.lose_event ? 0 : n == faults.repeat_event ? 2 : 1;
                         for (int i = 0; i < copies; ++i) batch->Append(timed.event, timed.time, Window::Global(), PaneInfo::NoFiring());
                       };
                       return std::make_unique<PacedReader<Event>>(std::move(events), pace, static_cast<int>(split));
                     });
}

using Price = KV<int64_t, int64_t>;  // of a class

Read<Price> ReadPrices(const SoakPlan& plan, const std::shared_ptr<Pace>& pace) {
  return Read<Price>("test:transform:soak_prices:v1", 1, false,
                     [plan, pace](uint32_t, engine::JobContext*) -> StatusOr<std::unique_ptr<engine::Reader>> {
                       PacedSequence<Price> prices;
                       prices.begin = FirstPricedWindow();
                       prices.end = EndOfPricedWindows(plan);
                       prices.slack = kWindow;
                       prices.due = [plan](int64_t window) { return PricesDue(plan, window); };
                       prices.append = [plan](int64_t window, engine::TypedBatch<Price>* batch) {
                         for (int64_t c = 0; c < kPriceClasses; ++c) {
                           batch->Append({c, PriceOf(plan, window, c)}, EventTime::FromMicros(window * kWindow.us), Window::Global(),
                                         PaneInfo::NoFiring());
                         }
                       };
                       return std::make_unique<PacedReader<Price>>(std::move(prices), pace, kPriceReader);
                     });
}

// A row of each pane.
auto RowsOf(Branch branch) {
  return Map([branch](const KeyedTotals& totals, const ElementContext& context) {
    return ToString(SoakRow{branch, totals.key, context.window(), context.pane().index, totals.value});
  });
}

class RowEncoder final : public engine::RowEncoder<std::string> {
 public:
  StatusOr<uint32_t> Encode(const std::string& line, EventTime, const Window&, const PaneInfo&, std::string* row) override {
    row->append(line);
    return 0u;
  }
};

Write<std::string, std::string, std::string> WriteRows(const SoakPipelineOptions& options) {
  Write<std::string, std::string, std::string> write;
  write.urn = "test:transform:soak_rows:v1";
  write.new_writer = [path = options.output, seed = options.slow_sink_seed](engine::JobContext* job)
      -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
    auto lines = std::make_unique<connectors::LineWriter>(job->options().fs, path, job->options().mode);
    if (seed == 0) return lines;
    return std::make_unique<SlowWriter>(std::move(lines), seed);
  };
  write.new_encoder = [] { return std::make_unique<RowEncoder>(); };
  write.refuse = [](const std::string& line, const Status&) { return line; };
  return write;
}

WindowInto LateFiring(WindowFn fn) {
  return WindowInto(std::move(fn))
      .Triggering(Trigger::AfterWatermark().WithLate(Trigger::AfterCount(1)))
      .WithAllowedLateness(kAllowedLateness);
}

}  // namespace

void BuildSoakPipeline(const SoakPipelineOptions& options, Pipeline* pipeline) {
  const auto pace = std::make_shared<Pace>(kReaders, kReadersApart, options.paced ? pipeline->options().clock : nullptr,
                                           options.begun_us);
  const auto events = *pipeline | "Events" >> ReadEvents(options, pace);
  const auto keyed = events | "ByKey" >> Map([](const Event& event) { return KeyedTotals{event.key, {1, event.value}}; });

  const auto sums = keyed | "SumWindows" >> LateFiring(FixedWindows(kWindow)).AccumulatingFiredPanes()
                          | "Sum" >> CombinePerKey(AddTotals()) | "SumRows" >> RowsOf(Branch::kSums);
  const auto sessions = keyed | "Sessions" >> LateFiring(Sessions(kSessionGap)).DiscardingFiredPanes()
                              | "SumSessions" >> CombinePerKey(AddTotals()) | "SessionRows" >> RowsOf(Branch::kSessions);
  const auto timed = keyed | "TimedWindows" >> LateFiring(FixedWindows(kWindow)).DiscardingFiredPanes()
                           | "Flush" >> ParDo<KeyedTotals>(FlushByTimers()) | "TimedRows" >> RowsOf(Branch::kTimed);

  const auto prices = *pipeline | "Prices" >> ReadPrices(options.plan, pace) | "PriceWindows" >> WindowInto(FixedWindows(kWindow))
                                | "PriceView" >> AsMap();
  const auto priced = events | "PricedWindows" >> LateFiring(FixedWindows(kWindow)).DiscardingFiredPanes()
                             | "Price" >> MapWithSideInputs([](const Event& event, const auto& of) {
                                 return KeyedTotals{event.key, {1, event.value * of.at(event.price_class)}};
                               }, prices)
                             | "SumPriced" >> CombinePerKey(AddTotals()) | "PricedRows" >> RowsOf(Branch::kPriced);

  Flatten<std::string>("Rows", {sums | "SumsAnyWindow" >> WindowInto(GlobalWindows()),
                                sessions | "SessionsAnyWindow" >> WindowInto(GlobalWindows()),
                                timed | "TimedAnyWindow" >> WindowInto(GlobalWindows()),
                                priced | "PricedAnyWindow" >> WindowInto(GlobalWindows())}) |
      "Write" >> WriteRows(options);
}

}  // namespace hornbeam::soak
