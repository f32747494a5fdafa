// Create, Read and Flatten: where PCollections begin and meet.
#ifndef HORNBEAM_TRANSFORMS_CREATE_H_
#define HORNBEAM_TRANSFORMS_CREATE_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/job/job_context.h"
#include "engine/source/reader.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/transforms/window.h"

namespace hornbeam {

namespace internal {

// A bounded source of values that the program gave. Its position is how many it has put out.
template <typename T>
class CreateReader final : public engine::Reader {
 public:
  explicit CreateReader(std::shared_ptr<const std::vector<TimestampedValue<T>>> values) : values_(std::move(values)) {}

  Status Open(const engine::ReaderContext& context) override { return absl::OkStatus(); }
  Status Restore(bool replaces, std::string_view payload) override {
    ByteReader in(payload);
    next_ = in.Varint();
    return in.ok() ? absl::OkStatus() : absl::DataLossError("malformed position of a Create");
  }
  StatusOr<engine::Polled> Poll(size_t max_elements) override {
    engine::Polled polled;
    if (next_ >= values_->size()) {
      polled.state = engine::Polled::State::kFinished;
      return polled;
    }
    auto batch = std::make_unique<engine::TypedBatch<T>>();
    const size_t end = std::min(values_->size(), next_ + max_elements);
    for (; next_ < end; ++next_) {
      const TimestampedValue<T>& element = (*values_)[next_];
      batch->Append(element.value, element.timestamp, Window::Global(), PaneInfo::NoFiring());
    }
    polled.state = engine::Polled::State::kData;
    polled.batch = std::move(batch);
    return polled;
  }
  Status OnMarker(engine::EpochId epoch, engine::ReaderRecords* records) override {
    if (next_ == recorded_) return absl::OkStatus();
    recorded_ = next_;
    return Rewrite(records);
  }
  Status Rewrite(engine::ReaderRecords* records) override {
    std::string position;
    PutVarint(&position, next_);
    records->Add(true, position);
    return absl::OkStatus();
  }
  void Drain() override { next_ = values_->size(); }

 private:
  const std::shared_ptr<const std::vector<TimestampedValue<T>>> values_;
  size_t next_ = 0;
  size_t recorded_ = 0;
};

}  // namespace internal

// Reads elements of type T with readers of the program's own: the way in for connectors (engine/source/reader.h).
template <typename T>
class Read : public PTransform {
 public:
  using NewReader = std::function<StatusOr<std::unique_ptr<engine::Reader>>(uint32_t split, engine::JobContext*)>;

  // `splits` readers, numbered from 0; with kOnePerWorker as many as there are workers.
  static constexpr uint32_t kOnePerWorker = 0;
  Read(std::string urn, uint32_t splits, bool bounded, NewReader new_reader)
      : urn_(std::move(urn)), splits_(splits), bounded_(bounded), new_reader_(std::move(new_reader)) {}

  PCollection<T> Expand(Pipeline& pipeline, const std::string& name) const {
    auto factory = std::make_shared<engine::OperatorFactory>();
    factory->shape = engine::Shape::kSource;
    factory->splits = splits_;
    factory->one_split_per_worker = splits_ == kOnePerWorker;
    factory->new_reader = new_reader_;
    return internal::Handle<T>(pipeline, pipeline.Add(name, urn_, {}, std::move(factory), {WindowingStrategy{}}, bounded_));
  }

 private:
  std::string urn_;
  uint32_t splits_;
  bool bounded_;
  NewReader new_reader_;
};

// The given elements, at the least timestamp or at those given.
template <typename T>
class Create : public PTransform {
 public:
  explicit Create(std::vector<T> values) {
    auto stamped = std::make_shared<std::vector<TimestampedValue<T>>>();
    for (T& value : values) stamped->push_back({std::move(value), EventTime::Min()});
    values_ = std::move(stamped);
  }
  explicit Create(std::vector<TimestampedValue<T>> values) {
    for (TimestampedValue<T>& value : values) value.timestamp = EventTime::FromMicros(value.timestamp.us);
    values_ = std::make_shared<std::vector<TimestampedValue<T>>>(std::move(values));
  }

  PCollection<T> Expand(Pipeline& pipeline, const std::string& name) const {
    return Read<T>("beam:transform:create:v1", 1, true, [values = values_](uint32_t, engine::JobContext*) {
             return std::make_unique<internal::CreateReader<T>>(values);
           })
        .Expand(pipeline, name);
  }

 private:
  std::shared_ptr<const std::vector<TimestampedValue<T>>> values_;
};

// Merges collections of one type. Their windowing must be the same. REQUIRES: there is one at least; where there may be none,
// the pipeline has to be named.
template <typename T>
PCollection<T> Flatten(const std::string& name, const std::vector<PCollection<T>>& inputs) {
  HB_CHECK(!inputs.empty());
  Pipeline& pipeline = inputs[0].pipeline();
  std::vector<model::PCollectionId> ids;
  bool bounded = true;
  const bool sliced = std::all_of(inputs.begin(), inputs.end(),
                                  [&](const PCollection<T>& input) { return pipeline.sliced(input.id()); });
  for (const PCollection<T>& input : inputs) {
    ids.push_back(sliced ? input.id() : internal::InEachWindow(input, absl::StrCat(name, "/", ids.size())).id());
    bounded = bounded && input.bounded();
    if (input.windowing().window_fn != inputs[0].windowing().window_fn) {
      pipeline.NoteMistake(absl::InvalidArgumentError("'" + name + "' flattens collections that are windowed differently"));
    }
  }
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->shape = engine::Shape::kFlatten;
  const PCollection<T> merged = internal::Handle<T>(
      pipeline, pipeline.Add(name, "beam:transform:flatten:v1", std::move(ids), std::move(factory), {inputs[0].windowing()}, bounded));
  if (sliced) pipeline.MarkSliced(merged.id());
  return merged;
}

// The same; of no collections at all, an empty one.
template <typename T>
PCollection<T> Flatten(Pipeline& pipeline, const std::string& name, const std::vector<PCollection<T>>& inputs) {
  return inputs.empty() ? Create<T>(std::vector<T>{}).Expand(pipeline, name) : Flatten(name, inputs);
}

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_CREATE_H_
