// Counter, Distribution and Gauge: what the snapshot shows, and Pipeline::metrics after Run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/job/job.h"
#include "hornbeam/hornbeam.h"
#include "hornbeam/testing/modes.h"
#include "hornbeam/testing/test_stream.h"

namespace hornbeam {
namespace {

struct Measures {
  Counter odd = Metrics::Counter("numbers", "odd");
  Distribution sizes = Metrics::Distribution("numbers", "sizes");
  Gauge newest = Metrics::Gauge("numbers", "newest");
  void ProcessElement(const int64_t& value, OutputReceiver<int64_t>& out) {
    if (value % 2 != 0) odd.Inc();
    sizes.Update(value);
    newest.Set(value);
    out.Output(value);
  }
};

const MetricSnapshot* Find(const Pipeline& pipeline, const std::string& transform, const std::string& name) {
  for (const StepMetrics& step : pipeline.metrics()) {
    if (step.transform != transform) continue;
    for (const MetricSnapshot& metric : step.metrics) {
      if (metric.name == name) return &metric;
    }
  }
  return nullptr;
}

TEST(MetricsTest, AreSummedOverWorkersAndReadAfterTheRun) {
  for (const int workers : {1, 4}) {
    for (const uint64_t seed : {0u, 1u}) {
      PipelineOptions options;
      options.workers = workers;
      options.deterministic_seed = seed;
      options.batch_size = 3;
      Pipeline pipeline(options);
      std::vector<KV<int64_t, int64_t>> numbers;
      for (int64_t i = 1; i <= 99; ++i) numbers.push_back({i, i});
      const Counter groups = Metrics::Counter("groups", "seen");
      pipeline | "Numbers" >> Create<KV<int64_t, int64_t>>(numbers) | "Group" >> GroupByKey()
               | "Key" >> Map([groups](const KV<int64_t, std::vector<int64_t>>& group) {
                   groups.Inc(2);
                   return group.key;
                 })
               | "Measure" >> ParDo<int64_t>(Measures());
      EXPECT_TRUE(pipeline.metrics().empty());
      const Status status = pipeline.Run();
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_NE(Find(pipeline, "Key", "seen"), nullptr);
      EXPECT_EQ(Find(pipeline, "Key", "seen")->value, 198);
      EXPECT_EQ(Find(pipeline, "Key", "seen")->space, "groups");
      ASSERT_NE(Find(pipeline, "Measure", "odd"), nullptr);
      EXPECT_EQ(Find(pipeline, "Measure", "odd")->value, 50);
      const MetricSnapshot sizes = *Find(pipeline, "Measure", "sizes");
      EXPECT_EQ(sizes.count, 99);
      EXPECT_EQ(sizes.sum, 99 * 50);
      EXPECT_EQ(sizes.min, 1);
      EXPECT_EQ(sizes.max, 99);
      const MetricSnapshot newest = *Find(pipeline, "Measure", "newest");
      EXPECT_EQ(newest.kind, MetricKind::kGauge);
      EXPECT_GT(newest.at_us, 0);
      EXPECT_GE(newest.value, 1);
      EXPECT_EQ(Find(pipeline, "Numbers", "odd"), nullptr);
    }
  }
}

TEST(MetricsTest, TheNewestGaugeWins) {
  MetricSnapshot a{.kind = MetricKind::kGauge, .space = "s", .name = "n", .value = 1, .at_us = 10};
  const MetricSnapshot b{.kind = MetricKind::kGauge, .space = "s", .name = "n", .value = 2, .at_us = 5};
  a.Merge(b);
  EXPECT_EQ(a.value, 1);
  MetricSnapshot c = b;
  c.Merge(a);
  EXPECT_EQ(c.value, 1);
  EXPECT_EQ(c.at_us, 10);
}

TEST(MetricsTest, NothingIsCountedOutsideOfAParDo) {
  const Counter counter = Metrics::Counter("a", "b");
  counter.Inc();  // and does not crash
  Metrics::Gauge("a", "c").Set(1);
  Metrics::Distribution("a", "d").Update(1);
}

}  // namespace
}  // namespace hornbeam
