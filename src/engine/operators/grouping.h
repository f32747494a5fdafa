// GroupByKey and Combine: gathers the elements of each key and window and puts them out as panes, when the trigger says so.
//
// One template for both; its Traits (grouping_traits.h) say what is gathered. Windows that merge have another operator
// (merging_grouping.h).
//
// State of a key and window is a Cell in the table of its (window, slice). A cell is as small as can be while its trigger
// needs nothing but the watermark and nothing late is allowed: then all panes of a window follow from its end, which is one
// timer for all keys, and the window goes with them. Otherwise the cell has GroupingExtras.
//
// Tables leave memory when the job's state exceeds its budget (state/spill.h); timers and holds stay.
#ifndef HORNBEAM_ENGINE_OPERATORS_GROUPING_H_
#define HORNBEAM_ENGINE_OPERATORS_GROUPING_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "engine/operators/grouping_cell.h"
#include "engine/operators/grouping_traits.h"
#include "engine/progress/holds.h"
#include "engine/state/key_table.h"
#include "engine/state/spill.h"
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

  using Cell = GroupingCell<Traits>;
  using CellCoder = GroupingCellCoder<Traits>;
  struct Table {
    uint32_t slice = 0;
    KeyTable<Key, Cell> cells;
    std::vector<uint32_t> dirty;  // positions of the cells that the log has to hear of
    Residence residence;
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
        coder_(&traits_, &machine_),
        ends_with_window_(strategy.allowed_lateness == model::Duration{} && !machine_.NeedsStateBeforeEnd() &&
                          !machine_.CountsElementsBeforeEnd()),
        stamps_end_(strategy.timestamp_combiner == model::TimestampCombiner::kEndOfWindow) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    spill_.emplace(context);
    return absl::OkStatus();
  }

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
      size_t at = 0;
      HB_RETURN_IF_ERROR(FindOrAddCell(in, table, hash, batch->values[i].key, &at));
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
      size_t at = 0;
      HB_RETURN_IF_ERROR(FindCell(*in, table, timer->id.key, &at));
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
      for (; from < dirty_.size() && dirty_[from].slice == slice; ++from) LogChanges(dirty_[from], epoch, &log);
      log.empty() ? records->Abandon() : records->End();
    }
    dirty_.clear();
    return spill_->EndEpoch(windows_, Measuring(), Evicting());
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    WindowLogWriter log(records->Begin(context().id, unit, true));
    Status status;
    windows_.ForEach([&](WindowEntry& in) {
      if (in.tables[unit] == nullptr) return;
      for (Entry& entry : in.tables[unit]->cells.entries()) LogCell(in.window, entry, &log);
      status.Update(LogCold(in, *in.tables[unit], &log));
    });
    records->End();
    return status;
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if (replaces) HB_RETURN_IF_ERROR(ClearSlice(unit));
    WindowLogReader log(payload);
    WindowOp op;
    while (log.Next(&op)) HB_RETURN_IF_ERROR(RestoreOp(unit, op, log));
    if (!log.in.ok() || !log.in.done()) return Malformed();
    return spill_->AfterRestore(payload.size(), windows_, Measuring(), Evicting());
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

  GroupingExtras& Extras(Cell& cell) {
    if (cell.extras == nullptr) cell.extras = std::make_unique<GroupingExtras>();
    return *cell.extras;
  }

  void MarkDirty(WindowEntry& in, Table& table, size_t at) {
    Cell& cell = table.cells[at].cell;
    if (cell.dirty) return;
    cell.dirty = true;
    cell.is_copied = false;
    if (table.dirty.empty()) dirty_.push_back({table.slice, in.window, false});
    table.dirty.push_back(static_cast<uint32_t>(at));
  }
  Status FindOrAddCell(const WindowEntry& in, Table& table, const model::KeyHash& hash, const Key& key, size_t* at) {
    const size_t before = table.cells.size();
    *at = table.cells.FindOrAdd(hash, key);
    if (*at != before) return absl::OkStatus();
    if (table.residence.cold_cells > 0) {
      HB_ASSIGN_OR_RETURN(const bool is_cold, spill_->cells().Get(in.window, hash, &cold_bytes_));
      if (is_cold) return Thaw(cold_bytes_, table, &table.cells[*at]);
    }
    table.cells[*at].cell.accumulator = traits_.Create();
    return absl::OkStatus();
  }
  // *at is the table's size where there is none.
  Status FindCell(const WindowEntry& in, Table& table, const model::KeyHash& hash, size_t* at) {
    *at = table.cells.Find(hash, model::HashKey<Key>);
    if (*at < table.cells.size() || table.residence.cold_cells == 0) return absl::OkStatus();
    HB_ASSIGN_OR_RETURN(const bool is_cold, spill_->cells().Get(in.window, hash, &cold_bytes_));
    if (!is_cold) return absl::OkStatus();
    ByteReader reader(cold_bytes_);
    Key key;
    if (!model::Coder<Key>::Decode(reader, &key)) return Malformed();
    *at = table.cells.FindOrAdd(hash, key);
    return Thaw(cold_bytes_, table, &table.cells[*at]);
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
    GroupingExtras& extras = Extras(cell);
    const TriggerContext context = ContextOf(in);
    if (!machine_.ShouldFire(extras.trigger, context)) return absl::OkStatus();
    // The trigger moves on also where an empty pane is not put out.
    machine_.OnFire(&extras.trigger, context);
    MarkDirty(in, table, at);
    const bool is_last = machine_.IsFinished(extras.trigger);
    return HasPane(cell, in, is_last) ? Fire(in, table.cells[at], is_last) : absl::OkStatus();
  }

  Status Fire(WindowEntry& in, Entry& entry, bool is_last) {
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
    return panes_->size() < this->context().job->options().batch_size ? absl::OkStatus() : FlushPanes();
  }

  Status FlushPanes() {
    if (panes_ == nullptr) return absl::OkStatus();
    return output(0).Emit(std::move(panes_));
  }

  // The watermark has passed the end of a window whose state is still needed.
  Status ReachEnd(WindowEntry& in) {
    due_.insert({strategy_.ExpiresAt(in.window), in.window});
    if (machine_.WatchesWatermark()) {
      for (std::unique_ptr<Table>& table : in.tables) {
        if (table == nullptr) continue;
        HB_RETURN_IF_ERROR(ThawAll(in, *table));
        for (size_t at = 0; at < table->cells.size(); ++at) HB_RETURN_IF_ERROR(FireIfReady(in, *table, at));
      }
    }
    in.state.end_is_over = true;
    return absl::OkStatus();
  }

  // The window is over: what has not been put out is (Beam's final pane), and its state goes.
  Status Expire(WindowEntry& in) {
    const auto expire = [&](Entry& entry) {
      const bool fires = ends_with_window_ || (!machine_.IsFinished(Extras(entry.cell).trigger) && HasPane(entry.cell, in, true));
      return fires ? Fire(in, entry, true) : absl::OkStatus();
    };
    for (std::unique_ptr<Table>& table : in.tables) {
      if (table == nullptr) continue;
      for (Entry& entry : table->cells.entries()) HB_RETURN_IF_ERROR(expire(entry));
      HB_RETURN_IF_ERROR(ForEachCold(in, *table, expire));
      HB_RETURN_IF_ERROR(spill_->Drop(in.window, table->slice, &table->residence));
      dirty_.push_back({table->slice, in.window, true});
    }
    windows_.Drop(in.window);
    return absl::OkStatus();
  }

  void LogChanges(const Dirty& dirty, EpochId epoch, WindowLogWriter* log) {
    if (dirty.dropped) {
      log->Begin(WindowOp::kDrop, dirty.window);
      return;
    }
    WindowEntry* const in = windows_.Find(dirty.window);
    if (in == nullptr) return;
    Table& table = *in->tables[dirty.slice];
    for (const uint32_t at : table.dirty) LogChange(dirty.window, table.cells[at], log);
    table.dirty.clear();
    table.residence.touched = epoch;
    Measure(table);
  }

  // They are in the store as they are in the log.
  Status LogCold(const WindowEntry& in, Table& table, WindowLogWriter* log) {
    if (table.residence.cold_cells == 0) return absl::OkStatus();
    return spill_->cells().ForEach(in.window, table.slice, [&](const model::KeyHash& hash, std::string_view bytes) {
      const bool is_back = table.cells.Find(hash, model::HashKey<Key>) != table.cells.size();
      if (!is_back) log->Begin(WindowOp::kPut, in.window)->append(bytes);
      return absl::OkStatus();
    });
  }

  void LogChange(const model::Window& window, Entry& entry, WindowLogWriter* log) {
    if constexpr (Traits::kAppends) {
      if (!entry.cell.rewrite && entry.cell.logged > 0) {
        coder_.PutAppended(entry.key, entry.cell, log->Begin(WindowOp::kAppend, window));
        NoteLogged(&entry.cell);
        return;
      }
    }
    LogCell(window, entry, log);
  }

  void LogCell(const model::Window& window, Entry& entry, WindowLogWriter* log) {
    coder_.PutWhole(entry.key, entry.cell, log->Begin(WindowOp::kPut, window));
    NoteLogged(&entry.cell);
  }

  static void NoteLogged(Cell* cell) {
    if constexpr (Traits::kAppends) cell->logged = static_cast<uint32_t>(cell->accumulator.size());
    cell->dirty = false;
    cell->rewrite = false;
  }

  static Status Malformed() { return absl::DataLossError("the log holds malformed state of a grouping"); }

  Status RestoreOp(uint32_t slice, WindowOp op, WindowLogReader& log) {
    if (op == WindowOp::kDrop) return DropSlice(slice, log.window);
    Key key;
    if (!model::Coder<Key>::Decode(log.in, &key)) return Malformed();
    WindowEntry& in = FindOrAdd(log.window);
    Table& table = in.table(slice);
    const model::KeyHash hash = model::HashKey(key);
    size_t at = 0;
    HB_RETURN_IF_ERROR(FindOrAddCell(in, table, hash, key, &at));
    Entry& entry = table.cells[at];
    typename CellCoder::Holding holding;
    if (op == WindowOp::kPut) {
      if (!coder_.ReadWhole(log.in, &entry.cell, &holding)) return Malformed();
    } else if constexpr (Traits::kAppends) {
      if (op != WindowOp::kAppend || !coder_.ReadAppended(log.in, &entry.cell, &holding)) return Malformed();
    } else {
      return Malformed();
    }
    entry.cell.is_copied = false;
    SetHolds(in, entry.cell, holding.holds);
    if (entry.cell.extras == nullptr) return absl::OkStatus();
    if (holding.stamp) entry.cell.extras->hold = holds_.HoldAt(*holding.stamp);
    now_ = model::ProcessingTime{};  // the least deadline, though it may have passed while nothing ran
    SetTimer(in, entry, hash);
    return absl::OkStatus();
  }

  Status DropSlice(uint32_t slice, const model::Window& window) {
    WindowEntry* const in = windows_.Find(window);
    if (in == nullptr || in->tables[slice] == nullptr) return absl::OkStatus();
    Table& table = *in->tables[slice];
    for (Entry& entry : table.cells.entries()) SetHolds(*in, entry.cell, false);
    HB_RETURN_IF_ERROR(ForEachCold(*in, table, [&](Entry& entry) {
      SetHolds(*in, entry.cell, false);
      return absl::OkStatus();
    }));
    HB_RETURN_IF_ERROR(spill_->Drop(in->window, slice, &table.residence));
    in->tables[slice] = nullptr;
    const bool empty = std::all_of(in->tables.begin(), in->tables.end(),
                                   [](const std::unique_ptr<Table>& other) { return other == nullptr; });
    if (!empty) return absl::OkStatus();
    due_.erase({in->window.MaxTimestamp(), in->window});
    due_.erase({strategy_.ExpiresAt(in->window), in->window});
    windows_.Drop(model::Window(window));
    return absl::OkStatus();
  }
  Status ClearSlice(uint32_t slice) {
    std::vector<model::Window> windows;
    windows_.ForEach([&](WindowEntry& in) { windows.push_back(in.window); });
    for (const model::Window& window : windows) HB_RETURN_IF_ERROR(DropSlice(slice, window));
    return absl::OkStatus();
  }

  // ---- Out of memory, and back ---------------------------------------------------------------------------------------------

  // Takes up a cell that is out of memory into a new entry.
  Status Thaw(std::string_view bytes, Table& table, Entry* entry) {
    ByteReader in(bytes);
    Key key;
    typename CellCoder::Holding holding;
    if (!model::Coder<Key>::Decode(in, &key) || !coder_.ReadWhole(in, &entry->cell, &holding)) {
      return absl::InternalError("state that was put out of memory came back malformed");
    }
    if (!(key == entry->key)) return absl::InternalError("two keys have the same hash of 128 bits; the state of one is lost");
    entry->cell.holds = holding.holds;
    entry->cell.is_copied = true;
    if (holding.stamp) {
      entry->cell.extras->hold = holds_.HoldAt(*holding.stamp);
      holds_.EndLeft(*holding.stamp);
    }
    spill_->NoteThawed(&table.residence);
    return absl::OkStatus();
  }

  // Visits the cells that are out of memory and have not come back; their entries are not in the table, and go after the visit.
  template <typename Visit>
  Status ForEachCold(const WindowEntry& in, Table& table, Visit visit) {
    if (table.residence.cold_cells == 0) return absl::OkStatus();
    return spill_->cells().ForEach(in.window, table.slice, [&](const model::KeyHash& hash, std::string_view bytes) -> Status {
      if (table.cells.Find(hash, model::HashKey<Key>) != table.cells.size()) return absl::OkStatus();
      ByteReader reader(bytes);
      Entry entry;
      if (!model::Coder<Key>::Decode(reader, &entry.key)) return Malformed();
      HB_RETURN_IF_ERROR(Thaw(bytes, table, &entry));
      return visit(entry);
    });
  }

  // Brings all of a table back.
  Status ThawAll(const WindowEntry& in, Table& table) {
    std::vector<Entry> thawed;
    HB_RETURN_IF_ERROR(ForEachCold(in, table, [&](Entry& entry) {
      thawed.push_back(std::move(entry));
      return absl::OkStatus();
    }));
    for (Entry& entry : thawed) {
      Entry& back = table.cells[table.cells.FindOrAdd(model::HashKey(entry.key), entry.key)];
      back.cell = std::move(entry.cell);
    }
    return absl::OkStatus();
  }

  Status Evict(const WindowEntry& in, Table& table) {
    std::string bytes;
    for (Entry& entry : table.cells.entries()) {
      if (!entry.cell.is_copied) {
        bytes.clear();
        coder_.PutWhole(entry.key, entry.cell, &bytes);
        HB_RETURN_IF_ERROR(spill_->cells().Put(in.window, model::HashKey(entry.key), bytes));
      }
      if (entry.cell.extras != nullptr) entry.cell.extras->hold.Leave();
    }
    spill_->NoteEvicted(&table.residence, table.cells.size(), 0);
    table.cells = {};
    return absl::OkStatus();
  }

  auto Measuring() {
    return [this](Table& table) { Measure(table); };
  }
  auto Evicting() {
    return [this](const WindowEntry& in, Table& table) { return Evict(in, table); };
  }
  void Measure(Table& table) {
    if (!spill_->is_limited()) return;
    size_t bytes = table.cells.size_bytes() + table.dirty.capacity() * sizeof(uint32_t);
    bytes += SampleHeapBytes(table.cells.entries(), [](const Entry& entry) { return CellCoder::HeapBytes(entry.key, entry.cell); });
    spill_->Resize(&table.residence, bytes);
  }

  const model::WindowingStrategy strategy_;
  const Traits traits_;
  const TriggerMachine machine_;
  const CellCoder coder_;
  // All panes of a window are put out when the watermark passes its end, and its state goes with them.
  const bool ends_with_window_;
  const bool stamps_end_;

  std::optional<Spill> spill_;
  std::string cold_bytes_;  // scratch

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
