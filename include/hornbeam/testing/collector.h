// Collector: a sink in memory, exactly-once in a job that is, which outlives the runs of a job that is crashed and restarted by a test.
//
//   Collector<int64_t> collector;
//   sums | "Collect" >> Collect(&collector);
//   ...run...
//   collector.elements();     // with timestamp, window and pane
#ifndef HORNBEAM_TESTING_COLLECTOR_H_
#define HORNBEAM_TESTING_COLLECTOR_H_

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "hornbeam/transforms/window.h"
#include "hornbeam/transforms/write.h"
#include "model/element_bytes.h"

namespace hornbeam {

template <typename T>
struct Collected {
  T value{};
  EventTime timestamp;
  Window window;
  PaneInfo pane;
  friend bool operator==(const Collected&, const Collected&) = default;
};

// Thread-safe.
template <typename T>
class Collector {
 public:
  // What a delivery brought; the same delivery again takes the place of the first, as a sink with offsets has it.
  void Put(engine::EpochId epoch, uint32_t shard, std::vector<Collected<T>> elements) {
    MutexLock lock(&mutex_);
    deliveries_[{epoch, shard}] = std::move(elements);
  }
  // At-least-once: what comes again is there again.
  void Add(engine::EpochId epoch, uint32_t shard, std::vector<Collected<T>> elements) {
    MutexLock lock(&mutex_);
    std::vector<Collected<T>>& all = deliveries_[{epoch, shard}];
    all.insert(all.end(), std::make_move_iterator(elements.begin()), std::make_move_iterator(elements.end()));
  }
  void Clear() {
    MutexLock lock(&mutex_);
    deliveries_.clear();
  }
  std::vector<Collected<T>> elements() const {
    MutexLock lock(&mutex_);
    std::vector<Collected<T>> all;
    for (const auto& [delivery, elements] : deliveries_) all.insert(all.end(), elements.begin(), elements.end());
    return all;
  }
  std::vector<T> values() const {
    std::vector<T> all;
    for (Collected<T>& element : elements()) all.push_back(std::move(element.value));
    return all;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::pair<engine::EpochId, uint32_t>, std::vector<Collected<T>>> deliveries_ ABSL_GUARDED_BY(mutex_);
};

namespace internal {

template <typename T>
class CollectEncoder final : public engine::RowEncoder<T> {
 public:
  StatusOr<uint32_t> Encode(const T& element, EventTime timestamp, const Window& window, const PaneInfo& pane,
                            std::string* row) override {
    Coder<T>::Encode(element, row);
    PutSigned(row, timestamp.us);
    model::PutWindow(row, window);
    model::PutPane(row, pane);
    return 0u;
  }
};

template <typename T>
class CollectWriter final : public engine::SinkWriter {
 public:
  CollectWriter(Collector<T>* collector, engine::ProcessingMode mode) : collector_(collector), mode_(mode) {}
  Status Open(engine::SinkJournal* journal, std::string_view state) override { return absl::OkStatus(); }
  Status Deliver(const engine::Delivery& delivery) override {
    std::vector<Collected<T>> elements;
    for (std::string_view row : delivery.rows) {
      ByteReader in(row);
      Collected<T>& element = elements.emplace_back();
      if (!Coder<T>::Decode(in, &element.value)) return absl::DataLossError("a collected element cannot be decoded");
      element.timestamp.us = in.Signed();
      element.window = model::ReadWindow(in);
      element.pane = model::ReadPane(in);
      if (!in.ok()) return absl::DataLossError("a collected element cannot be decoded");
    }
    if (mode_ == engine::ProcessingMode::kExactlyOnce) {
      collector_->Put(delivery.epoch, delivery.shard, std::move(elements));
    } else {
      collector_->Add(delivery.epoch, delivery.shard, std::move(elements));
    }
    return absl::OkStatus();
  }

 private:
  Collector<T>* const collector_;
  const engine::ProcessingMode mode_;
};

}  // namespace internal

template <typename T>
class CollectTransform : public PTransform {
 public:
  explicit CollectTransform(Collector<T>* collector) : collector_(collector) {}

  void Expand(const PCollection<T>& input, const std::string& name) const {
    Write<T, std::string, std::string> write;
    write.urn = "hornbeam:transform:collect:v1";
    write.new_writer = [collector = collector_](engine::JobContext* job) -> StatusOr<std::unique_ptr<engine::SinkWriter>> {
      return std::make_unique<internal::CollectWriter<T>>(collector, job->options().mode);
    };
    write.new_encoder = [] { return std::make_unique<internal::CollectEncoder<T>>(); };
    write.refuse = [](const T&, const Status& why) { return std::string(why.message()); };
    write.Expand(internal::InEachWindow(input, name), name);
  }

 private:
  Collector<T>* collector_;
};

// The collector outlives the job.
template <typename T>
CollectTransform<T> Collect(Collector<T>* collector) {
  return CollectTransform<T>(collector);
}

}  // namespace hornbeam

#endif  // HORNBEAM_TESTING_COLLECTOR_H_
