// Combines ahead of the exchange (Beam's combiner lifting): what a worker has of a key and window crosses once.
//
// Only for triggers that do not count elements before the end of the window and panes stamped with it. An element of a
// window that has ended passes at once, so that late panes see every one.
#ifndef HORNBEAM_ENGINE_OPERATORS_LIFTED_COMBINE_H_
#define HORNBEAM_ENGINE_OPERATORS_LIFTED_COMBINE_H_

#include <map>
#include <memory>
#include <utility>

#include "engine/operator.h"
#include "engine/state/key_table.h"
#include "model/coder.h"
#include "model/kv.h"

namespace hornbeam::engine {

template <typename K, typename CombineFn>
class LiftedCombineOperator final : public Operator {
  using InputT = typename CombineFn::InputT;
  using AccumulatorT = typename CombineFn::AccumulatorT;
  using Partial = model::KV<K, AccumulatorT>;
  using Table = KeyTable<K, AccumulatorT>;

 public:
  explicit LiftedCombineOperator(CombineFn fn) : fn_(std::move(fn)) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<K, InputT>>(std::move(erased));
    for (size_t i = 0; i < batch->size(); ++i) {
      model::KV<K, InputT>& element = batch->values[i];
      const model::Window& window = batch->windows[i];
      if (window.IsPassedBy(watermark_)) {
        AccumulatorT accumulator = fn_.CreateAccumulator();
        fn_.AddInput(accumulator, element.value);
        Put(std::move(element.key), std::move(accumulator), window);
        continue;
      }
      Table& table = TableOf(window);
      const size_t before = table.size();
      auto& entry = table[table.FindOrAdd(model::HashKey(element.key), element.key)];
      if (table.size() != before) {
        entry.cell = fn_.CreateAccumulator();
        ++cached_;
      }
      fn_.AddInput(entry.cell, element.value);
    }
    if (cached_ > kMostCached) FlushAll();
    return EmitOut();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    watermark_ = std::max(watermark_, input);
    last_ = nullptr;
    while (!tables_.empty() && tables_.begin()->first.IsPassedBy(watermark_)) FlushFirst();
    HB_RETURN_IF_ERROR(EmitOut());
    return input;
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    FlushAll();
    return EmitOut();
  }

 private:
  static constexpr size_t kMostCached = 1 << 16;

  Table& TableOf(const model::Window& window) {
    if (last_ == nullptr || last_->first != window) last_ = &*tables_.try_emplace(window).first;
    return last_->second;
  }

  void Put(K key, AccumulatorT accumulator, const model::Window& window) {
    if (out_ == nullptr) out_ = std::make_unique<TypedBatch<Partial>>();
    out_->Append({std::move(key), std::move(accumulator)}, window.MaxTimestamp(), window, model::PaneInfo::NoFiring());
  }
  void FlushFirst() {
    auto& [window, table] = *tables_.begin();
    for (auto& entry : table.entries()) Put(std::move(entry.key), std::move(entry.cell), window);
    cached_ -= table.size();
    tables_.erase(tables_.begin());
  }
  void FlushAll() {
    last_ = nullptr;
    while (!tables_.empty()) FlushFirst();
  }
  Status EmitOut() { return out_ == nullptr ? absl::OkStatus() : output(0).Emit(std::move(out_)); }

  // In the order of their ends.
  struct ByEnd {
    bool operator()(const model::Window& a, const model::Window& b) const {
      return std::pair(a.end, a.start) < std::pair(b.end, b.start);
    }
  };

  const CombineFn fn_;
  std::map<model::Window, Table, ByEnd> tables_;
  std::pair<const model::Window, Table>* last_ = nullptr;
  size_t cached_ = 0;
  std::unique_ptr<TypedBatch<Partial>> out_;
  model::EventTime watermark_ = model::EventTime::Min();
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_LIFTED_COMBINE_H_
