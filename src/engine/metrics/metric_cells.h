// Metrics of user code: what an operator's DoFn counts on one worker.
//
// A DoFn declares its metrics as members (hornbeam/metrics.h). An operator copies its DoFn inside a
// MetricScope, and the copies of those members find their cells there, once; counting is then an
// add to a cell that one worker writes and anyone reads. Values are those of this run, failed
// attempts included (Beam's attempted values).
#ifndef HORNBEAM_ENGINE_METRICS_METRIC_CELLS_H_
#define HORNBEAM_ENGINE_METRICS_METRIC_CELLS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace hornbeam::engine {

enum class MetricKind : uint8_t { kCounter, kDistribution, kGauge };
// "counter", "distribution", "gauge".
const char* ToString(MetricKind kind);

// One metric at one moment, of one worker or of all.
struct MetricSnapshot {
  MetricKind kind = MetricKind::kCounter;
  std::string space;  // the namespace
  std::string name;
  int64_t value = 0;  // kCounter: the sum; kGauge: the newest value
  int64_t count = 0;  // kDistribution: of values; then their sum, least and greatest
  int64_t sum = 0;
  int64_t min = 0;
  int64_t max = 0;
  int64_t at_us = 0;  // kGauge: when it was set, since the Unix epoch; 0: never

  // Takes in what another worker has of the same metric.
  void Merge(const MetricSnapshot& other);
};

// Written by one worker, so without locked instructions; read by anyone.
class MetricCell {
 public:
  MetricCell(MetricKind kind, std::string space, std::string name, Clock* clock)
      : kind_(kind), space_(std::move(space)), name_(std::move(name)), clock_(clock) {}

  void Add(int64_t n) { Add(&value_, n); }
  void Update(int64_t value) {
    Add(&sum_, value);
    if (value < min_.load(std::memory_order_relaxed)) min_.store(value, std::memory_order_relaxed);
    if (value > max_.load(std::memory_order_relaxed)) max_.store(value, std::memory_order_relaxed);
    Add(&count_, 1);
  }
  void Set(int64_t value) {
    value_.store(value, std::memory_order_relaxed);
    at_us_.store(clock_->NowMicros(), std::memory_order_relaxed);
  }

  bool Is(MetricKind kind, const std::string& space, const std::string& name) const {
    return kind == kind_ && space == space_ && name == name_;
  }
  MetricSnapshot Snapshot() const;

 private:
  static void Add(std::atomic<int64_t>* to, int64_t n) {
    const auto sum = static_cast<uint64_t>(to->load(std::memory_order_relaxed)) +
                     static_cast<uint64_t>(n);
    to->store(static_cast<int64_t>(sum), std::memory_order_relaxed);
  }

  const MetricKind kind_;
  const std::string space_;
  const std::string name_;
  Clock* const clock_;
  std::atomic<int64_t> value_{0};
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> sum_{0};
  std::atomic<int64_t> min_{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> max_{std::numeric_limits<int64_t>::lowest()};
  std::atomic<int64_t> at_us_{0};
};

// The cells of one operator on one worker. A cell lives as long as they do.
class MetricCells {
 public:
  // Of gauges made from now on.
  void SetClock(Clock* clock) {
    MutexLock lock(&mutex_);
    clock_ = clock;
  }
  MetricCell* FindOrAdd(MetricKind kind, const std::string& space, const std::string& name);
  // Any thread.
  std::vector<MetricSnapshot> Snapshot() const;

 private:
  mutable Mutex mutex_;
  Clock* clock_ ABSL_GUARDED_BY(mutex_) = Clock::System();
  std::list<MetricCell> cells_ ABSL_GUARDED_BY(mutex_);
};

// While it lives, metrics that are made or copied on this thread take their cells from `cells`.
class MetricScope {
 public:
  explicit MetricScope(MetricCells* cells) : outer_(std::exchange(current_, cells)) {}
  ~MetricScope() { current_ = outer_; }
  MetricScope(const MetricScope&) = delete;
  MetricScope& operator=(const MetricScope&) = delete;

  static MetricCells* current() { return current_; }

 private:
  static thread_local MetricCells* current_;
  MetricCells* const outer_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_METRICS_METRIC_CELLS_H_
