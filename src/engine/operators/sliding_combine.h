// Combine over sliding windows without touching an element once for each of its windows: a key has one accumulator for each slice
// (WindowFn::SliceOf), and a window that closes merges those of its slices.
//
// For windows that are put out once, when the watermark passes their end, and allow no lateness. The input's windows are slices and
// its values accumulators, combined ahead of the exchange.
#ifndef HORNBEAM_ENGINE_OPERATORS_SLIDING_COMBINE_H_
#define HORNBEAM_ENGINE_OPERATORS_SLIDING_COMBINE_H_

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "engine/state/key_table.h"
#include "engine/state/window_log.h"
#include "engine/state/window_slices.h"
#include "engine/windowing/pane_tracker.h"
#include "model/coder.h"
#include "model/kv.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

template <typename K, typename CombineFn>
class SlidingCombineOperator final : public Operator {
  using Accumulator = typename CombineFn::AccumulatorT;
  using Combined = model::KV<K, typename CombineFn::OutputT>;

  struct Cell {
    model::KeyHash hash;
    Accumulator accumulator{};
    bool dirty = false;  // in the table's list
  };
  struct Table {
    uint32_t slice = 0;  // of the keys
    KeyTable<K, Cell> cells;
    std::vector<uint32_t> dirty;
  };
  struct PerSlice {
    model::Window last_window;  // the latest that the slice is part of
  };
  using Slices = WindowSlices<Table, PerSlice>;
  using SliceEntry = typename Slices::WindowEntry;

 public:
  SlidingCombineOperator(model::WindowFn window_fn, CombineFn fn) : window_fn_(std::move(window_fn)), fn_(std::move(fn)) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<K, Accumulator>>(std::move(erased));
    for (size_t i = 0; i < batch->size(); ++i) {
      SliceEntry* const slice = Admit(batch->windows[i]);
      if (slice == nullptr) continue;
      Table& table = slice->table(batch->hashes[i].slice());
      Merge(batch->hashes[i], batch->values[i].key, batch->values[i].value, &table.cells);
      MarkDirty(slice->window, table, last_merged_);
    }
    return absl::OkStatus();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    watermark_ = std::max(watermark_, input);
    while (!due_.empty() && due_.begin()->IsPassedBy(watermark_)) {
      HB_RETURN_IF_ERROR(Fire(*due_.begin()));
      due_.erase(due_.begin());
    }
    HB_RETURN_IF_ERROR(FlushPanes());
    DropPassedSlices();
    return due_.empty() ? watermark_ : std::min(watermark_, due_.begin()->MaxTimestamp());
  }

  void RestoreWatermark(model::EventTime input) override {
    watermark_ = input;
    while (!due_.empty() && due_.begin()->IsPassedBy(watermark_)) due_.erase(due_.begin());
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    std::sort(dirty_.begin(), dirty_.end());
    size_t from = 0;
    while (from < dirty_.size()) {
      const uint32_t keys = dirty_[from].keys;
      WindowLogWriter log(records->Begin(context().id, keys, false));
      for (; from < dirty_.size() && dirty_[from].keys == keys; ++from) LogChanges(dirty_[from], &log);
      log.empty() ? records->Abandon() : records->End();
    }
    dirty_.clear();
    return absl::OkStatus();
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    WindowLogWriter log(records->Begin(context().id, unit, true));
    slices_.ForEach([&](SliceEntry& slice) {
      if (slice.tables[unit] == nullptr) return;
      for (auto& entry : slice.tables[unit]->cells.entries()) LogCell(slice.window, entry, &log);
    });
    records->End();
    return absl::OkStatus();
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if (replaces) slices_.ForEach([&](SliceEntry& slice) { slice.tables[unit] = nullptr; });
    WindowLogReader log(payload);
    WindowOp op;
    while (log.Next(&op)) {
      if (op == WindowOp::kDrop) {
        if (SliceEntry* const slice = slices_.Find(log.window)) slice->tables[unit] = nullptr;
        continue;
      }
      K key;
      Accumulator accumulator;
      if (op != WindowOp::kPut || !model::Coder<K>::Decode(log.in, &key) ||
          !model::Coder<Accumulator>::Decode(log.in, &accumulator)) {
        return Malformed();
      }
      Table& table = FindOrAdd(log.window).table(unit);
      const model::KeyHash hash = model::HashKey(key);
      Cell& cell = table.cells[table.cells.FindOrAdd(hash, key)].cell;
      cell.hash = hash;
      cell.accumulator = std::move(accumulator);
    }
    return log.in.ok() && log.in.done() ? absl::OkStatus() : Malformed();
  }

 private:
  struct Dirty {
    uint32_t keys;  // which slice of the keys
    model::Window slice;
    bool dropped;
    friend auto operator<=>(const Dirty&, const Dirty&) = default;
  };
  struct ByEnd {
    bool operator()(const model::Window& a, const model::Window& b) const {
      return std::pair(a.end, a.start) < std::pair(b.end, b.start);
    }
  };

  static Status Malformed() { return absl::DataLossError("the log holds malformed state of a combine over sliding windows"); }

  // The slice's entry, or null when all its windows have been put out. Counts each window that an element is too late for.
  SliceEntry* Admit(const model::Window& slice) {
    if (!slice.IsPassedBy(watermark_)) return &FindOrAdd(slice);
    windows_.clear();
    window_fn_.WindowsOfSlice(slice, &windows_);
    const auto late = std::count_if(windows_.begin(), windows_.end(),
                                    [this](const model::Window& window) { return window.IsPassedBy(watermark_); });
    OperatorCounters::Add(counters().dropped_late, late);
    return static_cast<size_t>(late) < windows_.size() ? &FindOrAdd(slice) : nullptr;
  }

  SliceEntry& FindOrAdd(const model::Window& slice) {
    bool is_new = false;
    SliceEntry& entry = slices_.FindOrAdd(slice, &is_new);
    if (!is_new) return entry;
    windows_.clear();
    window_fn_.WindowsOfSlice(slice, &windows_);
    entry.state.last_window = windows_.empty() ? slice : windows_.back();
    for (const model::Window& window : windows_) {
      if (!window.IsPassedBy(watermark_)) due_.insert(window);
    }
    return entry;
  }

  // Leaves the cell's position in last_merged_.
  void Merge(const model::KeyHash& hash, const K& key, const Accumulator& accumulator, KeyTable<K, Cell>* cells) {
    const size_t before = cells->size();
    last_merged_ = cells->FindOrAdd(hash, key);
    Cell& cell = (*cells)[last_merged_].cell;
    if (cells->size() != before) {
      cell.hash = hash;
      cell.accumulator = fn_.CreateAccumulator();
    }
    fn_.MergeAccumulators(cell.accumulator, accumulator);
  }

  void MarkDirty(const model::Window& slice, Table& table, size_t at) {
    Cell& cell = table.cells[at].cell;
    if (cell.dirty) return;
    cell.dirty = true;
    if (table.dirty.empty()) dirty_.push_back({table.slice, slice, false});
    table.dirty.push_back(static_cast<uint32_t>(at));
  }

  Status Fire(const model::Window& window) {
    std::vector<SliceEntry*> parts;
    const model::Duration step = window_fn_.Slice();
    for (model::EventTime start = window.start; start < window.end; start = start + step) {
      if (SliceEntry* const slice = slices_.Find(window_fn_.SliceOf(start))) parts.push_back(slice);
    }
    for (uint32_t keys = 0; keys < model::kKeySlices; ++keys) HB_RETURN_IF_ERROR(FireKeys(window, parts, keys));
    return absl::OkStatus();
  }

  Status FireKeys(const model::Window& window, const std::vector<SliceEntry*>& parts, uint32_t keys) {
    std::vector<Table*> tables;
    for (SliceEntry* const slice : parts) {
      if (slice->tables[keys] != nullptr && !slice->tables[keys]->cells.empty()) tables.push_back(slice->tables[keys].get());
    }
    if (tables.empty()) return absl::OkStatus();
    if (tables.size() == 1) return PutOut(window, &tables[0]->cells);
    KeyTable<K, Cell> merged;
    for (Table* const table : tables) {
      for (auto& entry : table->cells.entries()) Merge(entry.cell.hash, entry.key, entry.cell.accumulator, &merged);
    }
    return PutOut(window, &merged);
  }

  Status PutOut(const model::Window& window, KeyTable<K, Cell>* cells) {
    PaneState only_pane;
    const model::PaneInfo pane = NextPane(&only_pane, watermark_, window, /*is_last=*/true);
    for (auto& entry : cells->entries()) {
      if (panes_ == nullptr) panes_ = std::make_unique<TypedBatch<Combined>>();
      panes_->Append({entry.key, fn_.ExtractOutput(entry.cell.accumulator)}, window.MaxTimestamp(), window, pane);
      if (panes_->size() >= context().job->options().batch_size) HB_RETURN_IF_ERROR(FlushPanes());
    }
    return absl::OkStatus();
  }

  Status FlushPanes() { return panes_ == nullptr ? absl::OkStatus() : output(0).Emit(std::move(panes_)); }

  void DropPassedSlices() {
    while (!slices_.empty()) {
      SliceEntry& first = slices_.First();
      if (!first.state.last_window.IsPassedBy(watermark_)) return;
      for (uint32_t keys = 0; keys < model::kKeySlices; ++keys) {
        if (first.tables[keys] != nullptr) dirty_.push_back({keys, first.window, true});
      }
      slices_.Drop(model::Window(first.window));
    }
  }

  void LogChanges(const Dirty& dirty, WindowLogWriter* log) {
    if (dirty.dropped) {
      log->Begin(WindowOp::kDrop, dirty.slice);
      return;
    }
    SliceEntry* const slice = slices_.Find(dirty.slice);
    if (slice == nullptr || slice->tables[dirty.keys] == nullptr) return;
    Table& table = *slice->tables[dirty.keys];
    for (const uint32_t at : table.dirty) LogCell(dirty.slice, table.cells[at], log);
    table.dirty.clear();
  }
  void LogCell(const model::Window& slice, typename KeyTable<K, Cell>::Entry& entry, WindowLogWriter* log) {
    entry.cell.dirty = false;
    std::string* const out = log->Begin(WindowOp::kPut, slice);
    model::Coder<K>::Encode(entry.key, out);
    model::Coder<Accumulator>::Encode(entry.cell.accumulator, out);
  }

  const model::WindowFn window_fn_;
  const CombineFn fn_;
  Slices slices_;
  std::set<model::Window, ByEnd> due_;  // windows with a part, not yet put out
  std::vector<Dirty> dirty_;
  std::unique_ptr<TypedBatch<Combined>> panes_;
  model::EventTime watermark_ = model::EventTime::Min();
  std::vector<model::Window> windows_;  // scratch
  size_t last_merged_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_SLIDING_COMBINE_H_
