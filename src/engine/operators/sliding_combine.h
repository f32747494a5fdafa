// Combine over sliding windows without touching an element once for each of its windows: a key has one accumulator for each slice
// (WindowFn::SliceOf), and a window that closes merges those of its slices.
//
// For windows that are put out once, when the watermark passes their end, and allow no lateness. The input's windows are slices and
// its values accumulators, combined ahead of the exchange.
//
// Tables leave memory when the job's state exceeds its budget (state/spill.h); a window that closes reads them without bringing them
// back.
#ifndef HORNBEAM_ENGINE_OPERATORS_SLIDING_COMBINE_H_
#define HORNBEAM_ENGINE_OPERATORS_SLIDING_COMBINE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "engine/state/key_table.h"
#include "engine/state/spill.h"
#include "engine/state/window_log.h"
#include "engine/state/window_slices.h"
#include "engine/windowing/pane_tracker.h"
#include "model/coder.h"
#include "model/heap_bytes.h"
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
    bool dirty = false;      // in the table's list
    bool is_copied = false;  // the cold store has it as it is
  };
  struct Table {
    uint32_t slice = 0;  // of the keys
    KeyTable<K, Cell> cells;
    std::vector<uint32_t> dirty;
    Residence residence;
  };
  struct PerSlice {
    model::Window last_window;  // the latest that the slice is part of
  };
  using Slices = WindowSlices<Table, PerSlice>;
  using SliceEntry = typename Slices::WindowEntry;

 public:
  SlidingCombineOperator(model::WindowFn window_fn, CombineFn fn) : window_fn_(std::move(window_fn)), fn_(std::move(fn)) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    spill_.emplace(context);
    return absl::OkStatus();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<K, Accumulator>>(std::move(erased));
    for (size_t i = 0; i < batch->size(); ++i) {
      SliceEntry* const slice = Admit(batch->windows[i]);
      if (slice == nullptr) continue;
      Table& table = slice->table(batch->hashes[i].slice());
      size_t at = 0;
      HB_RETURN_IF_ERROR(FindOrAddCell(slice->window, table, batch->hashes[i], batch->values[i].key, &at));
      fn_.MergeAccumulators(table.cells[at].cell.accumulator, batch->values[i].value);
      MarkDirty(slice->window, table, at);
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
    HB_RETURN_IF_ERROR(DropPassedSlices());
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
      for (; from < dirty_.size() && dirty_[from].keys == keys; ++from) LogChanges(dirty_[from], epoch, &log);
      log.empty() ? records->Abandon() : records->End();
    }
    dirty_.clear();
    return spill_->EndEpoch(slices_, Measuring(), Evicting());
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    WindowLogWriter log(records->Begin(context().id, unit, true));
    Status status;
    slices_.ForEach([&](SliceEntry& slice) {
      if (slice.tables[unit] == nullptr) return;
      for (auto& entry : slice.tables[unit]->cells.entries()) LogCell(slice.window, entry, &log);
      status.Update(ForEachCold(slice.window, *slice.tables[unit], [&](const model::KeyHash& hash, std::string_view bytes) {
        log.Begin(WindowOp::kPut, slice.window)->append(bytes);
        return absl::OkStatus();
      }));
    });
    records->End();
    return status;
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if (replaces) {
      Status status;
      slices_.ForEach([&](SliceEntry& slice) { status.Update(DropTable(slice, unit)); });
      HB_RETURN_IF_ERROR(status);
    }
    WindowLogReader log(payload);
    WindowOp op;
    while (log.Next(&op)) {
      if (op == WindowOp::kDrop) {
        if (SliceEntry* const slice = slices_.Find(log.window)) HB_RETURN_IF_ERROR(DropTable(*slice, unit));
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
      cell.is_copied = false;
    }
    if (!log.in.ok() || !log.in.done()) return Malformed();
    return spill_->AfterRestore(payload.size(), slices_, Measuring(), Evicting());
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

  Status FindOrAddCell(const model::Window& slice, Table& table, const model::KeyHash& hash, const K& key, size_t* at) {
    const size_t before = table.cells.size();
    *at = table.cells.FindOrAdd(hash, key);
    if (*at != before) return absl::OkStatus();
    Cell& cell = table.cells[*at].cell;
    cell.hash = hash;
    if (table.residence.cold_cells > 0) {
      HB_ASSIGN_OR_RETURN(const bool is_cold, spill_->cells().Get(slice, hash, &cold_bytes_));
      if (is_cold) {
        spill_->NoteThawed(&table.residence);
        K same;
        if (!Read(cold_bytes_, &same, &cell.accumulator)) return Malformed();
        cell.is_copied = true;
        return same == key ? absl::OkStatus()
                           : absl::InternalError("two keys have the same hash of 128 bits; the state of one is lost");
      }
    }
    cell.accumulator = fn_.CreateAccumulator();
    return absl::OkStatus();
  }

  void Merge(const model::KeyHash& hash, const K& key, const Accumulator& accumulator, KeyTable<K, Cell>* cells) {
    const size_t before = cells->size();
    Cell& cell = (*cells)[cells->FindOrAdd(hash, key)].cell;
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
    cell.is_copied = false;
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
    std::vector<SliceEntry*> with_keys;
    for (SliceEntry* const slice : parts) {
      if (slice->tables[keys] != nullptr) with_keys.push_back(slice);
    }
    if (with_keys.empty()) return absl::OkStatus();
    if (with_keys.size() == 1 && with_keys[0]->tables[keys]->residence.cold_cells == 0) return PutOut(window, &with_keys[0]->tables[keys]->cells);
    KeyTable<K, Cell> merged;
    for (SliceEntry* const slice : with_keys) {
      Table& table = *slice->tables[keys];
      for (auto& entry : table.cells.entries()) Merge(entry.cell.hash, entry.key, entry.cell.accumulator, &merged);
      HB_RETURN_IF_ERROR(ForEachCold(slice->window, table, [&](const model::KeyHash& hash, std::string_view bytes) -> Status {
        K key;
        Accumulator accumulator;
        if (!Read(bytes, &key, &accumulator)) return Malformed();
        Merge(hash, key, accumulator, &merged);
        return absl::OkStatus();
      }));
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

  Status DropPassedSlices() {
    while (!slices_.empty()) {
      SliceEntry& first = slices_.First();
      if (!first.state.last_window.IsPassedBy(watermark_)) break;
      for (uint32_t keys = 0; keys < model::kKeySlices; ++keys) {
        if (first.tables[keys] == nullptr) continue;
        dirty_.push_back({keys, first.window, true});
        HB_RETURN_IF_ERROR(DropTable(first, keys));
      }
      slices_.Drop(model::Window(first.window));
    }
    return absl::OkStatus();
  }

  Status DropTable(SliceEntry& slice, uint32_t keys) {
    if (slice.tables[keys] == nullptr) return absl::OkStatus();
    HB_RETURN_IF_ERROR(spill_->Drop(slice.window, keys, &slice.tables[keys]->residence));
    slice.tables[keys] = nullptr;
    return absl::OkStatus();
  }

  // Those that are out of memory and have not come back.
  template <typename Visit>
  Status ForEachCold(const model::Window& slice, Table& table, Visit visit) {
    if (table.residence.cold_cells == 0) return absl::OkStatus();
    return spill_->cells().ForEach(slice, table.slice, [&](const model::KeyHash& hash, std::string_view bytes) {
      const bool is_back = table.cells.Find(hash, model::HashKey<K>) != table.cells.size();
      return is_back ? absl::OkStatus() : visit(hash, bytes);
    });
  }

  static bool Read(std::string_view bytes, K* key, Accumulator* accumulator) {
    ByteReader in(bytes);
    return model::Coder<K>::Decode(in, key) && model::Coder<Accumulator>::Decode(in, accumulator);
  }
  static void Put(const typename KeyTable<K, Cell>::Entry& entry, std::string* out) {
    model::Coder<K>::Encode(entry.key, out);
    model::Coder<Accumulator>::Encode(entry.cell.accumulator, out);
  }

  Status Evict(SliceEntry& slice, Table& table) {
    for (const auto& entry : table.cells.entries()) {
      if (entry.cell.is_copied) continue;
      cold_bytes_.clear();
      Put(entry, &cold_bytes_);
      HB_RETURN_IF_ERROR(spill_->cells().Put(slice.window, entry.cell.hash, cold_bytes_));
    }
    spill_->NoteEvicted(&table.residence, table.cells.size(), 0);
    table.cells = {};
    return absl::OkStatus();
  }

  auto Measuring() {
    return [this](Table& table) { Measure(table); };
  }
  auto Evicting() {
    return [this](SliceEntry& slice, Table& table) { return Evict(slice, table); };
  }
  void Measure(Table& table) {
    if (!spill_->is_limited()) return;
    const size_t heap = SampleHeapBytes(table.cells.entries(), [](const auto& entry) {
      return model::HeapBytes(entry.key) + model::HeapBytes(entry.cell.accumulator);
    });
    spill_->Resize(&table.residence, table.cells.size_bytes() + table.dirty.capacity() * sizeof(uint32_t) + heap);
  }
  void LogChanges(const Dirty& dirty, EpochId epoch, WindowLogWriter* log) {
    if (dirty.dropped) {
      log->Begin(WindowOp::kDrop, dirty.slice);
      return;
    }
    SliceEntry* const slice = slices_.Find(dirty.slice);
    if (slice == nullptr || slice->tables[dirty.keys] == nullptr) return;
    Table& table = *slice->tables[dirty.keys];
    for (const uint32_t at : table.dirty) LogCell(dirty.slice, table.cells[at], log);
    table.dirty.clear();
    table.residence.touched = epoch;
    Measure(table);
  }
  void LogCell(const model::Window& slice, typename KeyTable<K, Cell>::Entry& entry, WindowLogWriter* log) {
    entry.cell.dirty = false;
    Put(entry, log->Begin(WindowOp::kPut, slice));
  }

  const model::WindowFn window_fn_;
  const CombineFn fn_;
  std::optional<Spill> spill_;
  std::string cold_bytes_;  // scratch
  Slices slices_;
  std::set<model::Window, ByEnd> due_;  // windows with a part, not yet put out
  std::vector<Dirty> dirty_;
  std::unique_ptr<TypedBatch<Combined>> panes_;
  model::EventTime watermark_ = model::EventTime::Min();
  std::vector<model::Window> windows_;  // scratch
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_SLIDING_COMBINE_H_
