#include "orders/orders_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hornbeam/testing/collector.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam::examples {
namespace {

std::string Json(const std::string& id, const std::string& store, int amount, int ts) {
  return "{\"id\": \"" + id + "\", \"store\": \"" + store + "\", \"amount\": " + std::to_string(amount) +
         ", \"ts\": " + std::to_string(ts) + "}";
}

const char kNoSuchTime[] = R"({"id": "e6", "store": "hyd", "amount": 1, "ts": 9223372036854775807})";

// The late event is dropped, or a late update, in every mode.
TEST(OrdersPipelineTest, LatenessDecidesInEveryMode) {
  for (const int lateness : {0, 600}) {
    ForEachMode(5, [lateness](const TestMode& mode) {
      SCOPED_TRACE(ToString(mode) + ", lateness " + std::to_string(lateness));
      Collector<std::string> totals, dead;
      const Status status = RunInMode(mode, [&](Pipeline& pipeline) {
        const auto payloads =
            pipeline | "Messages" >> TestStream<std::string>()
                                         .AdvanceWatermarkTo(EventTime::FromSeconds(0))
                                         .AddElements({Json("e1", "hyd", 100, 5), Json("e2", "hyd", 50, 20),
                                                       Json("e2", "hyd", 50, 20), "not json at all", kNoSuchTime,
                                                       Json("e3", "blr", 70, 40), Json("e4", "hyd", 30, 70)})
                                         .AdvanceWatermarkTo(EventTime::FromSeconds(125))
                                         .AddElements({Json("e5", "hyd", 20, 50)})
                                         .AdvanceWatermarkToInfinity();
        const OrderLines lines = SumOrders(payloads, Seconds(lateness));
        lines.dead_letters | "Dead" >> Collect(&dead);
        lines.totals | "Totals" >> Collect(&totals);
      });
      ASSERT_TRUE(status.ok()) << status;
      std::vector<std::string> expected = {"window   0- 60  store blr  total  70  on time",
                                           "window   0- 60  store hyd  total 150  on time",
                                           "window  60-120  store hyd  total  30  on time"};
      if (lateness > 0) expected.push_back("window   0- 60  store hyd  total 170  late update");
      EXPECT_THAT(totals.values(), testing::UnorderedElementsAreArray(expected));
      EXPECT_THAT(dead.values(), testing::UnorderedElementsAre("dead letter: not json at all",
                                                               std::string("dead letter: ") + kNoSuchTime));
    });
  }
}

}  // namespace
}  // namespace hornbeam::examples
