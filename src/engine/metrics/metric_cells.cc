#include "engine/metrics/metric_cells.h"

#include <algorithm>

namespace hornbeam::engine {

thread_local MetricCells* MetricScope::current_ = nullptr;

const char* ToString(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return "counter";
    case MetricKind::kDistribution: return "distribution";
    case MetricKind::kGauge: return "gauge";
  }
  return "unknown";
}

void MetricSnapshot::Merge(const MetricSnapshot& other) {
  switch (kind) {
    case MetricKind::kCounter: value += other.value; return;
    case MetricKind::kDistribution:
      if (other.count == 0) return;
      min = count == 0 ? other.min : std::min(min, other.min);
      max = count == 0 ? other.max : std::max(max, other.max);
      count += other.count;
      sum += other.sum;
      return;
    case MetricKind::kGauge:
      if (other.at_us <= at_us) return;
      at_us = other.at_us;
      value = other.value;
      return;
  }
}

MetricSnapshot MetricCell::Snapshot() const {
  MetricSnapshot snapshot{.kind = kind_, .space = space_, .name = name_};
  snapshot.value = value_.load(std::memory_order_relaxed);
  snapshot.count = count_.load(std::memory_order_relaxed);
  snapshot.sum = sum_.load(std::memory_order_relaxed);
  if (snapshot.count > 0) {
    snapshot.min = min_.load(std::memory_order_relaxed);
    snapshot.max = max_.load(std::memory_order_relaxed);
  }
  snapshot.at_us = at_us_.load(std::memory_order_relaxed);
  return snapshot;
}

MetricCell* MetricCells::FindOrAdd(MetricKind kind, const std::string& space,
                                   const std::string& name) {
  MutexLock lock(&mutex_);
  for (MetricCell& cell : cells_) {
    if (cell.Is(kind, space, name)) return &cell;
  }
  return &cells_.emplace_back(kind, space, name, clock_);
}

std::vector<MetricSnapshot> MetricCells::Snapshot() const {
  MutexLock lock(&mutex_);
  std::vector<MetricSnapshot> snapshots;
  for (const MetricCell& cell : cells_) snapshots.push_back(cell.Snapshot());
  return snapshots;
}

}  // namespace hornbeam::engine
