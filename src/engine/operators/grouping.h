// GroupByKey and Combine: gathers the elements of each key and window and puts them out as panes, when the trigger says so.
//
// One template for both; its Traits (grouping_traits.h) say what is gathered. Windows that merge have another operator
// (merging_grouping.h).
//
// State of a key and window is a Cell in the table of its (window, slice). A cell is as small as can be while its trigger
// needs nothing but the watermark and nothing late is allowed: then all panes of a window follow from its end, which is one
// timer for all keys, and the window goes with them. Otherwise the cell has CellExtras.
#ifndef HORNBEAM_ENGINE_OPERATORS_GROUPING_H_
#define HORNBEAM_ENGINE_OPERATORS_GROUPING_H_

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "engine/operators/grouping_traits.h"
#include "engine/progress/holds.h"
#include "engine/state/key_table.h"
#include "engine/state/window_log.h"
#include "engine/state/window_slices.h"
#include "engine/timers/timer_queue.h"
#include "engine/windowing/pane_rules.h"
#include "engine/windowing/pane_tracker.h"
#include "engine/windowing/trigger_machine.h"
#include "model/coder.h"
#include "model/kv.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

template <typename Traits>
class GroupingOperator final : public Operator {
  using Key = typename Traits::Key;
  using Input = typename Traits::Input;
  using Accumulator = typename Traits::Accumulator;
  using Grouped = model::KV<Key, typename Traits::Output>;

  // What a cell has where its panes do not follow from the end of the window alone.
  struct CellExtras {
    TriggerState trigger;
    PaneState pane;
    Hold hold;  // at the pane's timestamp, where the timestamp combiner is not the end of the window
  };
  struct Cell {
    Accumulator accumulator{};
    uint32_t unfired = 0;          // elements since the last pane
    uint32_t logged = 0;           // kAppends: how many of the values the log has
    bool dirty = false;            // in the table's list
    bool rewrite = false;          // the log needs the whole cell: it has values that are gone
    bool holds = false;            // has unfired elements that came before the end of the window
    std::unique_ptr<CellExtras> extras;
  };
  struct Table {
    uint32_t slice = 0;
    KeyTable<Key, Cell> cells;
    std::vector<uint32_t> dirty;  // positions of the cells that the log has to hear of
  };
  struct PerWindow {
    int64_t holding_cells = 0;
    bool end_is_over = false;  // the watermark had passed the end of the window before what happens now
  };
  using Windows = WindowSlices<Table, PerWindow>;
  using WindowEntry = typename Windows::WindowEntry;
  using Entry = typename KeyTable<Key, Cell>::Entry;

 public:
  GroupingOperator(const model::WindowingStrategy& strategy, Traits traits)
      : strategy_(strategy),
        traits_(std::move(traits)),
        machine_(strategy.trigger),
        ends_with_window_(strategy.allowed_lateness == model::Duration{} && !machine_.NeedsStateBeforeEnd() &&
                          !machine_.CountsElementsBeforeEnd()),
        stamps_end_(strategy.timestamp_combiner == model::TimestampCombiner::kEndOfWindow) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<Key, Input>>(std::move(erased));
    now_ = ends_with_window_ ? model::ProcessingTime{} : context().job->Now();
    for (size_t i = 0; i < batch->size(); ++i) {
      const model::Window& window = batch->windows[i];
      if (strategy_.IsExpired(window, watermark_)) {
        OperatorCounters::Add(counters().dropped_late, 1);
        continue;
      }
      WindowEntry& in = FindOrAdd(window);
      const model::KeyHash& hash = batch->hashes[i];
      Table& table = in.table(hash.slice());
      const size_t at = FindOrAddCell(table, hash, batch->values[i].key);
      HB_RETURN_IF_ERROR(AddElement(in, table, at, hash, std::move(batch->values[i].value), batch->timestamps[i]));
    }
    return FlushPanes();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    watermark_ = std::max(watermark_, input);
    now_ = context().job->Now();
    while (!due_.empty() && watermark_ > due_.begin()->first) {
      const auto [at, window] = *due_.begin();
      due_.erase(due_.begin());
      WindowEntry* const entry = windows_.Find(window);
      if (entry == nullptr) continue;
      // A watermark that jumps over both comes to the end first: panes do not depend on the steps that it takes.
      HB_RETURN_IF_ERROR(at < strategy_.ExpiresAt(window) ? ReachEnd(*entry) : Expire(*entry));
    }
    HB_RETURN_IF_ERROR(FlushPanes());
    output_watermark_ = std::max(output_watermark_, HeldWatermark());
    return output_watermark_;
  }

  // Triggers were asked when the ends of windows passed, and what they said has been restored.
  void RestoreWatermark(model::EventTime input) override {
    watermark_ = input;
    windows_.ForEach([&](WindowEntry& in) {
      if (!in.window.IsPassedBy(watermark_)) return;
      in.state.end_is_over = true;
      due_.erase({in.window.MaxTimestamp(), in.window});
      due_.insert({strategy_.ExpiresAt(in.window), in.window});
    });
  }

  model::ProcessingTime NextProcessingTime() const override { return timers_.NextTime(); }

  Status OnProcessingTime(model::ProcessingTime now) override {
    now_ = now;
    while (const auto timer = timers_.PopDue(now)) {
      WindowEntry* const in = windows_.Find(timer->id.window);
      if (in == nullptr) continue;
      Table& table = in->table(timer->id.key.slice());
      const size_t at = table.cells.Find(timer->id.key, model::HashKey<Key>);
      if (at == table.cells.size()) continue;
      HB_RETURN_IF_ERROR(FireIfReady(*in, table, at));
      SetTimer(*in, table.cells[at], timer->id.key);
    }
    return FlushPanes();
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    std::sort(dirty_.begin(), dirty_.end());
    size_t from = 0;
    while (from < dirty_.size()) {
      const uint32_t slice = dirty_[from].slice;
      WindowLogWriter log(records->Begin(context().id, slice, false));
      for (; from < dirty_.size() && dirty_[from].slice == slice; ++from) LogChanges(dirty_[from], &log);
      log.empty() ? records->Abandon() : records->End();
    }
    dirty_.clear();
    return absl::OkStatus();
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    WindowLogWriter log(records->Begin(context().id, unit, true));
    windows_.ForEach([&](WindowEntry& in) {
      if (in.tables[unit] == nullptr) return;
      for (Entry& entry : in.tables[unit]->cells.entries()) LogCell(in.window, entry, &log);
    });
    records->End();
    return absl::OkStatus();
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if (replaces) ClearSlice(unit);
    WindowLogReader log(payload);
    WindowOp op;
    while (log.Next(&op)) HB_RETURN_IF_ERROR(RestoreOp(unit, op, log));
    return log.in.ok() && log.in.done() ? absl::OkStatus() : Malformed();
  }

 private:
  // A (window, slice) with something to log; `dropped` after all that was done in it.
  struct Dirty {
    uint32_t slice;
    model::Window window;
    bool dropped;
    friend auto operator<=>(const Dirty&, const Dirty&) = default;
  };

  WindowEntry& FindOrAdd(const model::Window& window) {
    bool is_new = false;
    WindowEntry& entry = windows_.FindOrAdd(window, &is_new);
    if (is_new) {
      entry.state.end_is_over = window.IsPassedBy(watermark_);
      due_.insert({entry.state.end_is_over ? strategy_.ExpiresAt(window) : window.MaxTimestamp(), window});
    }
    return entry;
  }

  TriggerContext ContextOf(const WindowEntry& in) const { return {in.window, watermark_, now_}; }

  CellExtras& Extras(Cell& cell) {
    if (cell.extras == nullptr) cell.extras = std::make_unique<CellExtras>();
    return *cell.extras;
  }

  void MarkDirty(WindowEntry& in, Table& table, size_t at) {
    Cell& cell = table.cells[at].cell;
    if (cell.dirty) return;
    cell.dirty = true;
    if (table.dirty.empty()) dirty_.push_back({table.slice, in.window, false});
    table.dirty.push_back(static_cast<uint32_t>(at));
  }
  size_t FindOrAddCell(Table& table, const model::KeyHash& hash, const Key& key) {
    const size_t before = table.cells.size();
    const size_t at = table.cells.FindOrAdd(hash, key);
    if (at == before) table.cells[at].cell.accumulator = traits_.Create();
    return at;
  }

  Status AddElement(WindowEntry& in, Table& table, size_t at, const model::KeyHash& hash, Input&& value,
                    model::EventTime timestamp) {
    Cell& cell = table.cells[at].cell;
    if (!ends_with_window_ && machine_.IsFinished(Extras(cell).trigger)) {
      OperatorCounters::Add(counters().dropped_late, 1);  // as Beam counts it: the window is closed for this key
      return absl::OkStatus();
    }
    traits_.Add(&cell.accumulator, std::move(value));
    ++cell.unfired;
    MarkDirty(in, table, at);
    if (!in.window.IsPassedBy(watermark_) &&
        (stamps_end_ || StampPane(strategy_.timestamp_combiner, timestamp, watermark_, &holds_, &Extras(cell).hold))) {
      SetHolds(in, cell, true);
    }
    if (ends_with_window_) return absl::OkStatus();
    machine_.OnElements(&cell.extras->trigger, 1, ContextOf(in));
    HB_RETURN_IF_ERROR(FireIfReady(in, table, at));
    SetTimer(in, table.cells[at], hash);
    return absl::OkStatus();
  }

  void SetTimer(WindowEntry& in, Entry& entry, const model::KeyHash& hash) {
    if (!machine_.UsesProcessingTime()) return;
    const model::ProcessingTime deadline = machine_.NextProcessingTimeDeadline(Extras(entry.cell).trigger, now_);
    const TimerId id{hash, in.window, 0};
    if (deadline == model::ProcessingTime::Never()) {
      timers_.Clear(id);
    } else if (const auto set = timers_.Find(id); !set || set->time != deadline) {
      timers_.Set(id, deadline, in.window.MaxTimestamp());
    }
  }

  void SetHolds(WindowEntry& in, Cell& cell, bool holds) {
    if (cell.holds == holds) return;
    cell.holds = holds;
    in.state.holding_cells += holds ? 1 : -1;
  }

  // At most the input watermark; not past the end of a window that still has unfired elements from before it, nor past
  // the timestamp that an unfired pane will have.
  model::EventTime HeldWatermark() {
    model::EventTime held = std::min(watermark_, holds_.Min());
    windows_.ForEach([&](WindowEntry& in) {
      if (in.state.holding_cells > 0) held = std::min(held, in.window.MaxTimestamp());
    });
    return held;
  }

  // A pane that comes out now can be on time for nobody: the watermark had left the window before, and nothing of this key's
  // holds it there. (Beam asks the output watermark, which depends on what other keys hold, and so on parallelism.)
  static bool IsLateForOutput(const Cell& cell, const WindowEntry& in) { return in.state.end_is_over && !cell.holds; }

  // Whether a pane is put out, when its trigger says so or its window closes.
  bool HasPane(const Cell& cell, const WindowEntry& in, bool is_last) const {
    const bool may_be_on_time = in.window.IsPassedBy(watermark_) && !IsLateForOutput(cell, in) &&
                                !(cell.extras != nullptr && cell.extras->pane.on_time_is_over());
    return engine::HasPane(strategy_, cell.unfired > 0, is_last, may_be_on_time);
  }

  Status FireIfReady(WindowEntry& in, Table& table, size_t at) {
    Cell& cell = table.cells[at].cell;
    CellExtras& extras = Extras(cell);
    const TriggerContext context = ContextOf(in);
    if (!machine_.ShouldFire(extras.trigger, context)) return absl::OkStatus();
    // The trigger moves on also where an empty pane is not put out.
    machine_.OnFire(&extras.trigger, context);
    MarkDirty(in, table, at);
    const bool is_last = machine_.IsFinished(extras.trigger);
    return HasPane(cell, in, is_last) ? Fire(in, table, at, is_last) : absl::OkStatus();
  }

  Status Fire(WindowEntry& in, Table& table, size_t at, bool is_last) {
    Entry& entry = table.cells[at];
    Cell& cell = entry.cell;
    const bool keep = !is_last && strategy_.accumulation_mode == model::AccumulationMode::kAccumulating;
    const bool late_for_output = IsLateForOutput(cell, in);
    PaneState only_pane;
    PaneState* const pane_state = cell.extras != nullptr ? &cell.extras->pane : &only_pane;
    const model::PaneInfo pane = NextPane(pane_state, watermark_, in.window, is_last, late_for_output);
    const bool is_stamped = cell.extras != nullptr && cell.extras->hold.is_held();
    const model::EventTime timestamp = is_stamped ? cell.extras->hold.time() : in.window.MaxTimestamp();
    if (panes_ == nullptr) panes_ = std::make_unique<TypedBatch<Grouped>>();
    panes_->Append({entry.key, traits_.Extract(&cell.accumulator, keep)}, timestamp, in.window, pane);
    if (!keep) {
      cell.accumulator = traits_.Create();
      cell.logged = 0;
      cell.rewrite = true;
    }
    cell.unfired = 0;
    SetHolds(in, cell, false);
    if (cell.extras != nullptr) cell.extras->hold.Release();
    if (!ends_with_window_) MarkDirty(in, table, at);
    return panes_->size() < this->context().job->options().batch_size ? absl::OkStatus() : FlushPanes();
  }

  Status FlushPanes() {
    if (panes_ == nullptr) return absl::OkStatus();
    return output(0).Emit(std::move(panes_));
  }

  template <typename Visit>
  Status ForEachCell(WindowEntry& in, Visit visit) {
    for (std::unique_ptr<Table>& table : in.tables) {
      if (table == nullptr) continue;
      for (size_t at = 0; at < table->cells.size(); ++at) HB_RETURN_IF_ERROR(visit(*table, at));
    }
    return absl::OkStatus();
  }

  // The watermark has passed the end of a window whose state is still needed.
  Status ReachEnd(WindowEntry& in) {
    due_.insert({strategy_.ExpiresAt(in.window), in.window});
    if (machine_.WatchesWatermark()) {
      HB_RETURN_IF_ERROR(ForEachCell(in, [&](Table& table, size_t at) { return FireIfReady(in, table, at); }));
    }
    in.state.end_is_over = true;
    return absl::OkStatus();
  }

  // The window is over: what has not been put out is (Beam's final pane), and its state goes.
  Status Expire(WindowEntry& in) {
    HB_RETURN_IF_ERROR(ForEachCell(in, [&](Table& table, size_t at) {
      Cell& cell = table.cells[at].cell;
      if (ends_with_window_) return Fire(in, table, at, true);
      if (machine_.IsFinished(Extras(cell).trigger) || !HasPane(cell, in, true)) return absl::OkStatus();
      return Fire(in, table, at, true);
    }));
    for (uint32_t slice = 0; slice < model::kKeySlices; ++slice) {
      if (in.tables[slice] != nullptr) dirty_.push_back({slice, in.window, true});
    }
    windows_.Drop(in.window);
    return absl::OkStatus();
  }

  void LogChanges(const Dirty& dirty, WindowLogWriter* log) {
    if (dirty.dropped) {
      log->Begin(WindowOp::kDrop, dirty.window);
      return;
    }
    WindowEntry* const in = windows_.Find(dirty.window);
    if (in == nullptr) return;
    Table& table = *in->tables[dirty.slice];
    for (const uint32_t at : table.dirty) LogChange(dirty.window, table.cells[at], log);
    table.dirty.clear();
  }

  void LogChange(const model::Window& window, Entry& entry, WindowLogWriter* log) {
    entry.cell.dirty = false;
    if constexpr (Traits::kAppends) {
      if (!entry.cell.rewrite && entry.cell.logged > 0) {
        std::string* const out = log->Begin(WindowOp::kAppend, window);
        model::Coder<Key>::Encode(entry.key, out);
        const std::vector<Input>& values = entry.cell.accumulator;
        PutVarint(out, values.size() - entry.cell.logged);
        for (size_t i = entry.cell.logged; i < values.size(); ++i) model::Coder<Input>::Encode(values[i], out);
        entry.cell.logged = static_cast<uint32_t>(values.size());
        LogProgress(entry.cell, out);
        return;
      }
    }
    LogCell(window, entry, log);
  }

  void LogCell(const model::Window& window, Entry& entry, WindowLogWriter* log) {
    std::string* const out = log->Begin(WindowOp::kPut, window);
    Cell& cell = entry.cell;
    model::Coder<Key>::Encode(entry.key, out);
    model::Coder<Accumulator>::Encode(cell.accumulator, out);
    LogProgress(cell, out);
    if constexpr (Traits::kAppends) cell.logged = static_cast<uint32_t>(cell.accumulator.size());
    cell.rewrite = false;
  }

  // All of a cell but what it has gathered.
  void LogProgress(const Cell& cell, std::string* out) {
    PutVarint(out, cell.unfired);
    const bool is_stamped = cell.extras != nullptr && cell.extras->hold.is_held();
    out->push_back(static_cast<char>((cell.holds ? 1 : 0) | (cell.extras != nullptr ? 2 : 0) | (is_stamped ? 4 : 0)));
    if (cell.extras == nullptr) return;
    machine_.Encode(cell.extras->trigger, out);
    EncodePaneState(cell.extras->pane, out);
    if (is_stamped) model::Coder<model::EventTime>::Encode(cell.extras->hold.time(), out);
  }

  static Status Malformed() { return absl::DataLossError("the log holds malformed state of a grouping"); }

  Status RestoreOp(uint32_t slice, WindowOp op, WindowLogReader& log) {
    if (op == WindowOp::kDrop) {
      DropSlice(slice, log.window);
      return absl::OkStatus();
    }
    Key key;
    if (!model::Coder<Key>::Decode(log.in, &key)) return Malformed();
    WindowEntry& in = FindOrAdd(log.window);
    Table& table = in.table(slice);
    const model::KeyHash hash = model::HashKey(key);
    Entry& entry = table.cells[FindOrAddCell(table, hash, key)];
    if (op == WindowOp::kPut) {
      if (!model::Coder<Accumulator>::Decode(log.in, &entry.cell.accumulator)) return Malformed();
    } else if (!Traits::kAppends || op != WindowOp::kAppend || !RestoreAppended(entry.cell, log.in)) {
      return Malformed();
    }
    if constexpr (Traits::kAppends) entry.cell.logged = static_cast<uint32_t>(entry.cell.accumulator.size());
    return RestoreProgress(in, entry, hash, log.in);
  }

  Status RestoreProgress(WindowEntry& in, Entry& entry, const model::KeyHash& hash, ByteReader& bytes) {
    Cell& cell = entry.cell;
    cell.unfired = static_cast<uint32_t>(bytes.Varint());
    const uint8_t flags = bytes.Byte();
    SetHolds(in, cell, flags & 1);
    if ((flags & 2) == 0) return bytes.ok() ? absl::OkStatus() : Malformed();
    CellExtras& extras = Extras(cell);
    if (!machine_.Decode(&bytes, &extras.trigger) || !DecodePaneState(&bytes, &extras.pane)) return Malformed();
    extras.hold.Release();
    if (flags & 4) {
      model::EventTime stamp;
      if (!model::Coder<model::EventTime>::Decode(bytes, &stamp)) return Malformed();
      extras.hold = holds_.HoldAt(stamp);
    }
    now_ = model::ProcessingTime{};  // the least deadline, though it may have passed while nothing ran
    SetTimer(in, entry, hash);
    return absl::OkStatus();
  }

  bool RestoreAppended(Cell& cell, ByteReader& bytes) {
    for (uint64_t left = bytes.Varint(); left > 0; --left) {
      Input value;
      if (!model::Coder<Input>::Decode(bytes, &value)) return false;
      traits_.Add(&cell.accumulator, std::move(value));
    }
    return bytes.ok();
  }

  void DropSlice(uint32_t slice, const model::Window& window) {
    WindowEntry* const in = windows_.Find(window);
    if (in == nullptr || in->tables[slice] == nullptr) return;
    for (Entry& entry : in->tables[slice]->cells.entries()) SetHolds(*in, entry.cell, false);
    in->tables[slice] = nullptr;
    const bool empty = std::all_of(in->tables.begin(), in->tables.end(),
                                   [](const std::unique_ptr<Table>& table) { return table == nullptr; });
    if (!empty) return;
    due_.erase({in->window.MaxTimestamp(), in->window});
    due_.erase({strategy_.ExpiresAt(in->window), in->window});
    windows_.Drop(model::Window(window));
  }
  void ClearSlice(uint32_t slice) {
    std::vector<model::Window> windows;
    windows_.ForEach([&](WindowEntry& in) { windows.push_back(in.window); });
    for (const model::Window& window : windows) DropSlice(slice, window);
  }

  const model::WindowingStrategy strategy_;
  const Traits traits_;
  const TriggerMachine machine_;
  // All panes of a window are put out when the watermark passes its end, and its state goes with them.
  const bool ends_with_window_;
  const bool stamps_end_;

  HoldSet holds_;  // before the cells that hold
  Windows windows_;
  std::set<std::pair<model::EventTime, model::Window>> due_;  // the next thing that event time does to each window
  ProcessingTimerQueue timers_;
  std::vector<Dirty> dirty_;
  std::unique_ptr<TypedBatch<Grouped>> panes_;
  model::EventTime watermark_ = model::EventTime::Min();
  model::EventTime output_watermark_ = model::EventTime::Min();
  model::ProcessingTime now_{};
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_GROUPING_H_
