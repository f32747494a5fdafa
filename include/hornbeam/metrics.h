// Metrics: what a program counts about itself (Beam's Counter, Distribution and Gauge).
//
//   struct Parse {
//     Counter malformed = Metrics::Counter("orders", "malformed");
//     void ProcessElement(const std::string& line, OutputReceiver<Order>& out) {
//       ...
//       malformed.Inc();
//     }
//   };
//
// A metric is a member of a DoFn, or is captured by value by a lambda; each worker then counts in a
// cell of its own, without a look-up. What a ParDo has counted, over all workers, is in the job's
// snapshot (engine/job/job_snapshot.h), on the console's page, and in Pipeline::metrics() after Run.
// Values are of this run and count failed attempts. Outside of a ParDo a metric counts nothing.
#ifndef HORNBEAM_METRICS_H_
#define HORNBEAM_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "engine/metrics/metric_cells.h"

namespace hornbeam {

using engine::MetricKind;
using engine::MetricSnapshot;

namespace internal {

// The part that all kinds share: which metric it is, and where it counts.
class Metric {
 protected:
  Metric(MetricKind kind, std::string space, std::string name)
      : kind_(kind), name_(std::make_shared<const Name>(std::move(space), std::move(name))) {
    Bind();
  }
  // A copy that is made for an operator counts there; any other where the original does.
  Metric(const Metric& other) : kind_(other.kind_), name_(other.name_), cell_(other.cell_) { Bind(); }
  Metric& operator=(const Metric& other) {
    kind_ = other.kind_;
    name_ = other.name_;
    cell_ = other.cell_;
    Bind();
    return *this;
  }
  ~Metric() = default;

  engine::MetricCell* cell() const { return cell_; }

 private:
  using Name = std::pair<std::string, std::string>;

  void Bind() {
    if (engine::MetricCells* const cells = engine::MetricScope::current()) {
      cell_ = cells->FindOrAdd(kind_, name_->first, name_->second);
    }
  }

  MetricKind kind_;
  std::shared_ptr<const Name> name_;
  engine::MetricCell* cell_ = nullptr;
};

}  // namespace internal

class Counter : public internal::Metric {
 public:
  void Inc(int64_t n = 1) const {
    if (cell() != nullptr) cell()->Add(n);
  }
  void Dec(int64_t n = 1) const { Inc(-n); }

 private:
  friend struct Metrics;
  Counter(std::string space, std::string name)
      : Metric(MetricKind::kCounter, std::move(space), std::move(name)) {}
};

// Count, sum, least and greatest of the values that it is given.
class Distribution : public internal::Metric {
 public:
  void Update(int64_t value) const {
    if (cell() != nullptr) cell()->Update(value);
  }

 private:
  friend struct Metrics;
  Distribution(std::string space, std::string name)
      : Metric(MetricKind::kDistribution, std::move(space), std::move(name)) {}
};

// The value that was set last, on whichever worker.
class Gauge : public internal::Metric {
 public:
  void Set(int64_t value) const {
    if (cell() != nullptr) cell()->Set(value);
  }

 private:
  friend struct Metrics;
  Gauge(std::string space, std::string name)
      : Metric(MetricKind::kGauge, std::move(space), std::move(name)) {}
};

// Two metrics of one ParDo with the same kind, namespace and name are one.
struct Metrics {
  static hornbeam::Counter Counter(std::string space, std::string name) {
    return {std::move(space), std::move(name)};
  }
  static hornbeam::Distribution Distribution(std::string space, std::string name) {
    return {std::move(space), std::move(name)};
  }
  static hornbeam::Gauge Gauge(std::string space, std::string name) {
    return {std::move(space), std::move(name)};
  }
};

}  // namespace hornbeam

#endif  // HORNBEAM_METRICS_H_
