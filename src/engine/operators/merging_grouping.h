// GroupByKey and Combine where windows merge, as sessions do: a key's windows are its own, and become one when an element joins them.
//
// One template for both; its Traits (grouping_traits.h) say what is gathered. The rules are those of Beam's runners
// (runners/core-java: ReduceFnRunner, MergingActiveWindowSet, WatermarkHold), element by element:
//
//  - an element is late by the window that it has by itself, before that merges with any other;
//  - a merged window begins with its first pane, unless it is exactly one of those that were merged: then it goes on with that
//    one's;
//  - a window whose trigger has finished does not merge any more, and an element of exactly that window is dropped.
//
// Keys leave memory, slice by slice, when the job's state exceeds its budget (state/spill.h); their timers and holds stay.
#ifndef HORNBEAM_ENGINE_OPERATORS_MERGING_GROUPING_H_
#define HORNBEAM_ENGINE_OPERATORS_MERGING_GROUPING_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/operator.h"
#include "engine/operators/grouping_traits.h"
#include "engine/progress/holds.h"
#include "engine/state/spill.h"
#include "engine/state/window_slices.h"
#include "engine/timers/timer_queue.h"
#include "engine/windowing/pane_rules.h"
#include "engine/windowing/pane_tracker.h"
#include "engine/windowing/trigger_machine.h"
#include "model/coder.h"
#include "model/element_bytes.h"
#include "model/heap_bytes.h"
#include "model/kv.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

template <typename Traits>
class MergingGroupingOperator final : public Operator {
  using Key = typename Traits::Key;
  using Input = typename Traits::Input;
  using Accumulator = typename Traits::Accumulator;
  using Grouped = model::KV<Key, typename Traits::Output>;

  // A window of a key whose trigger has not finished.
  struct Active {
    model::Window window;
    Accumulator accumulator{};
    uint32_t unfired = 0;       // elements since the last pane
    uint32_t logged = 0;        // Traits::kAppends: how many of the values the log has
    bool dirty = false;         // the log has to hear of it
    bool end_is_over = false;   // the watermark had passed its end before what happens now
    TriggerState trigger;
    PaneState pane;
    Hold hold;                  // at the timestamp that the next pane will have, if an element that was in time is in it
  };
  struct KeyState {
    Key key;
    std::vector<Active> windows;          // in ascending order
    std::vector<model::Window> finished;  // until they expire
    bool dirty = false;
    bool rewrite = false;    // the log needs all of it
    bool has_copy = false;   // the cold store has one, of this or of what it was
    bool is_copied = false;  // and it is the same
  };
  using Keys = absl::flat_hash_map<model::KeyHash, std::unique_ptr<KeyState>>;
  struct Table {
    uint32_t slice = 0;
    Keys keys;
    Residence residence;
  };
  struct Nothing {};
  using Tables = WindowSlices<Table, Nothing>;  // of one window: keys have windows of their own

 public:
  MergingGroupingOperator(const model::WindowingStrategy& strategy, Traits traits)
      : strategy_(strategy), traits_(std::move(traits)), machine_(strategy.trigger, /*merging=*/true) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    spill_.emplace(context);
    return absl::OkStatus();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<Key, Input>>(std::move(erased));
    now_ = context().job->Now();
    for (size_t i = 0; i < batch->size(); ++i) {
      const model::Window& window = batch->windows[i];
      if (strategy_.IsExpired(window, watermark_)) {
        OperatorCounters::Add(counters().dropped_late, 1);
        continue;
      }
      const model::KeyHash& hash = batch->hashes[i];
      KeyState& key = FindOrAdd(hash, batch->values[i].key);
      Active* const active = Join(hash, key, window);
      if (active == nullptr) {
        OperatorCounters::Add(counters().dropped_late, 1);  // as Beam counts it: the window is closed for this key
        continue;
      }
      HB_RETURN_IF_ERROR(AddElement(hash, key, *active, std::move(batch->values[i].value), batch->timestamps[i]));
    }
    return FlushPanes();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    watermark_ = std::max(watermark_, input);
    now_ = context().job->Now();
    while (const auto timer = ends_.PopDue(watermark_ - model::Micros(1))) {
      KeyState* const key = Find(timer->id.key);
      if (key != nullptr) HB_RETURN_IF_ERROR(OnEnd(timer->id, *key));
    }
    HB_RETURN_IF_ERROR(FlushPanes());
    output_watermark_ = std::max(output_watermark_, std::min(watermark_, holds_.Min()));
    return output_watermark_;
  }

  void RestoreWatermark(model::EventTime input) override { watermark_ = input; }

  model::ProcessingTime NextProcessingTime() const override { return deadlines_.NextTime(); }

  Status OnProcessingTime(model::ProcessingTime now) override {
    now_ = now;
    while (const auto timer = deadlines_.PopDue(now)) {
      KeyState* const key = Find(timer->id.key);
      if (key == nullptr) continue;
      if (Active* const active = Find(*key, timer->id.window)) HB_RETURN_IF_ERROR(FireIfReady(timer->id.key, *key, *active));
    }
    return FlushPanes();
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    std::sort(dirty_.begin(), dirty_.end(), [](const model::KeyHash& a, const model::KeyHash& b) {
      return std::pair(a.slice(), a) < std::pair(b.slice(), b);
    });
    size_t from = 0;
    while (from < dirty_.size()) {
      const uint32_t slice = dirty_[from].slice();
      std::string* const out = records->Begin(context().id, slice, false);
      for (; from < dirty_.size() && dirty_[from].slice() == slice; ++from) LogChanges(dirty_[from], out);
      records->End();
      Table& table = TableOf(slice);
      table.residence.touched = epoch;
      Measure(table);
    }
    dirty_.clear();
    cold_status_.Update(spill_->EndEpoch(tables_, Measuring(), Evicting()));
    return cold_status_;
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    std::string* const out = records->Begin(context().id, unit, true);
    Table& table = TableOf(unit);
    for (auto& [hash, key] : table.keys) LogKey(*key, out);
    cold_status_.Update(ForEachCold(table, [&](const model::KeyHash& hash, std::string_view bytes) {
      out->push_back(static_cast<char>(KeyOp::kPut));  // it is in the store as it is in the log
      out->append(bytes);
      return absl::OkStatus();
    }));
    records->End();
    return cold_status_;
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if (replaces) HB_RETURN_IF_ERROR(ForgetAll(TableOf(unit)));
    ByteReader in(payload);
    while (in.ok() && !in.done()) {
      if (!RestoreOp(in)) return Malformed();
    }
    if (!in.ok()) return Malformed();
    cold_status_.Update(spill_->AfterRestore(payload.size(), tables_, Measuring(), Evicting()));
    return cold_status_;
  }

 private:
  // What the log hears of a key (docs/formats/job_log.md).
  enum class KeyOp : uint8_t { kPut = 1, kAppend = 2, kDrop = 3 };

  static TimerId IdOf(const model::KeyHash& hash, const model::Window& window) { return {hash, window, 0}; }
  TriggerContext ContextOf(const Active& active) const { return {active.window, watermark_, now_}; }
  bool stamps_end() const { return strategy_.timestamp_combiner == model::TimestampCombiner::kEndOfWindow; }

  Table& TableOf(uint32_t slice) { return all_.table(slice); }

  KeyState& FindOrAdd(const model::KeyHash& hash, const Key& key) {
    Table& table = TableOf(hash.slice());
    std::unique_ptr<KeyState>& state = table.keys[hash];
    if (state != nullptr) return *state;
    state = table.residence.cold_cells > 0 ? Fetch(table, hash) : nullptr;
    if (state == nullptr) {
      state = std::make_unique<KeyState>();
      state->key = key;
    } else if (!(state->key == key)) {
      cold_status_.Update(absl::InternalError("two keys have the same hash of 128 bits; the state of one is lost"));
    }
    return *state;
  }

  // Null where there is none.
  KeyState* Find(const model::KeyHash& hash) {
    Table& table = TableOf(hash.slice());
    const auto at = table.keys.find(hash);
    if (at != table.keys.end()) return at->second.get();
    if (table.residence.cold_cells == 0) return nullptr;
    std::unique_ptr<KeyState> state = Fetch(table, hash);
    return state == nullptr ? nullptr : (table.keys[hash] = std::move(state)).get();
  }

  static Active* Find(KeyState& key, const model::Window& window) {
    const auto at = std::find_if(key.windows.begin(), key.windows.end(), [&](const Active& a) { return a.window == window; });
    return at == key.windows.end() ? nullptr : &*at;
  }

  void MarkDirty(const model::KeyHash& hash, KeyState& key) {
    key.is_copied = false;
    if (!std::exchange(key.dirty, true)) dirty_.push_back(hash);
  }

  // The active window to which an element of `window` belongs, after all that this merges; null when it is closed.
  Active* Join(const model::KeyHash& hash, KeyState& key, const model::Window& window) {
    if (Active* const same = Find(key, window)) return same;
    if (std::count(key.finished.begin(), key.finished.end(), window) > 0) return nullptr;
    windows_.clear();
    for (const Active& active : key.windows) windows_.push_back(active.window);
    windows_.insert(std::upper_bound(windows_.begin(), windows_.end(), window), window);
    merges_.clear();
    strategy_.window_fn.Merge(windows_, &merges_);
    model::Window own = window;
    for (const model::CustomWindowFn::MergeResult& merge : merges_) {
      if (std::count(merge.from.begin(), merge.from.end(), window) > 0) own = merge.into;
      MergeActive(hash, key, merge);
    }
    if (Active* const merged = Find(key, own)) return merged;
    Active fresh;
    fresh.window = own;
    fresh.accumulator = traits_.Create();
    return Insert(hash, key, std::move(fresh));
  }

  Active* Insert(const model::KeyHash& hash, KeyState& key, Active active) {
    active.end_is_over = active.window.IsPassedBy(watermark_);
    SetEnd(hash, active);
    key.rewrite = true;
    const auto at = std::find_if(key.windows.begin(), key.windows.end(), [&](const Active& a) { return active.window < a.window; });
    return &*key.windows.insert(at, std::move(active));
  }

  void SetEnd(const model::KeyHash& hash, const Active& active) {
    const model::EventTime expiry = strategy_.ExpiresAt(active.window);
    ends_.Set(IdOf(hash, active.window), active.end_is_over ? expiry : active.window.MaxTimestamp(), active.window.MaxTimestamp());
  }

  void MergeActive(const model::KeyHash& hash, KeyState& key, const model::CustomWindowFn::MergeResult& merge) {
    std::vector<Active> parts;
    for (size_t i = 0; i < key.windows.size();) {
      if (std::count(merge.from.begin(), merge.from.end(), key.windows[i].window) == 0) {
        ++i;
        continue;
      }
      ends_.Clear(IdOf(hash, key.windows[i].window));
      deadlines_.Clear(IdOf(hash, key.windows[i].window));
      parts.push_back(std::move(key.windows[i]));
      key.windows.erase(key.windows.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (parts.empty()) return;
    SetDeadline(hash, *Insert(hash, key, Together(parts, merge.into)));
    MarkDirty(hash, key);
  }

  Active Together(std::vector<Active>& parts, const model::Window& into) {
    Active merged;
    merged.window = into;
    std::vector<const TriggerState*> triggers;
    for (Active& part : parts) {
      triggers.push_back(&part.trigger);
      merged.unfired += part.unfired;
      if (part.window != into) continue;
      merged.pane = part.pane;
      merged.trigger = part.trigger;
    }
    machine_.Merge(triggers, ContextOf(merged), &merged.trigger);
    merged.accumulator = std::move(parts[0].accumulator);
    for (size_t i = 1; i < parts.size(); ++i) traits_.Merge(&merged.accumulator, std::move(parts[i].accumulator));
    MergeHolds(parts, &merged);
    return merged;
  }

  void MergeHolds(std::vector<Active>& parts, Active* merged) {
    if (stamps_end()) {
      if (!merged->window.IsPassedBy(watermark_)) merged->hold = holds_.HoldAt(merged->window.MaxTimestamp());
      return;
    }
    for (Active& part : parts) {
      if (!part.hold.is_held()) continue;
      if (!merged->hold.is_held() || ComesFirst(strategy_.timestamp_combiner, part.hold.time(), merged->hold.time())) {
        merged->hold = std::move(part.hold);
      }
    }
  }

  Status AddElement(const model::KeyHash& hash, KeyState& key, Active& active, Input&& value, model::EventTime timestamp) {
    traits_.Add(&active.accumulator, std::move(value));
    ++active.unfired;
    active.dirty = true;
    MarkDirty(hash, key);
    if (!active.window.IsPassedBy(watermark_)) SetHold(active, timestamp);
    machine_.OnElements(&active.trigger, 1, ContextOf(active));
    return FireIfReady(hash, key, active);
  }

  void SetHold(Active& active, model::EventTime timestamp) {
    if (!stamps_end()) {
      StampPane(strategy_.timestamp_combiner, timestamp, watermark_, &holds_, &active.hold);
    } else if (!active.hold.is_held()) {
      active.hold = holds_.HoldAt(active.window.MaxTimestamp());
    }
  }

  // A pane that comes out now can be on time for nobody.
  static bool IsLateForOutput(const Active& active) { return active.end_is_over && !active.hold.is_held(); }

  bool HasPane(const Active& active, bool is_last) const {
    const bool may_be_on_time =
        active.window.IsPassedBy(watermark_) && !IsLateForOutput(active) && !active.pane.on_time_is_over();
    return engine::HasPane(strategy_, active.unfired > 0, is_last, may_be_on_time);
  }

  // `active` may be gone afterwards.
  Status FireIfReady(const model::KeyHash& hash, KeyState& key, Active& active) {
    const TriggerContext context = ContextOf(active);
    if (!machine_.ShouldFire(active.trigger, context)) {
      SetDeadline(hash, active);
      return absl::OkStatus();
    }
    machine_.OnFire(&active.trigger, context);
    active.dirty = true;
    MarkDirty(hash, key);
    const bool is_last = machine_.IsFinished(active.trigger);
    if (HasPane(active, is_last)) HB_RETURN_IF_ERROR(Fire(key, active, is_last));
    if (!is_last) {
      SetDeadline(hash, active);
      return absl::OkStatus();
    }
    // It is remembered until it expires, for which its timer stays.
    const model::Window window = active.window;
    ends_.Set(IdOf(hash, window), strategy_.ExpiresAt(window), window.MaxTimestamp());
    Remove(hash, key, window);
    key.finished.push_back(window);
    return absl::OkStatus();
  }

  void SetDeadline(const model::KeyHash& hash, const Active& active) {
    if (!machine_.UsesProcessingTime()) return;
    const model::ProcessingTime deadline = machine_.NextProcessingTimeDeadline(active.trigger, now_);
    const TimerId id = IdOf(hash, active.window);
    if (deadline == model::ProcessingTime::Never()) {
      deadlines_.Clear(id);
    } else if (const auto set = deadlines_.Find(id); !set || set->time != deadline) {
      deadlines_.Set(id, deadline, active.window.MaxTimestamp());
    }
  }

  Status Fire(KeyState& key, Active& active, bool is_last) {
    const bool keep = !is_last && strategy_.accumulation_mode == model::AccumulationMode::kAccumulating;
    const model::PaneInfo pane = NextPane(&active.pane, watermark_, active.window, is_last, IsLateForOutput(active));
    const model::EventTime timestamp = active.hold.is_held() ? active.hold.time() : active.window.MaxTimestamp();
    if (panes_ == nullptr) panes_ = std::make_unique<TypedBatch<Grouped>>();
    panes_->Append({key.key, traits_.Extract(&active.accumulator, keep)}, timestamp, active.window, pane);
    if (!keep) {
      active.accumulator = traits_.Create();
      key.rewrite = true;
    }
    active.unfired = 0;
    active.hold.Release();
    return panes_->size() < context().job->options().batch_size ? absl::OkStatus() : FlushPanes();
  }

  Status FlushPanes() { return panes_ == nullptr ? absl::OkStatus() : output(0).Emit(std::move(panes_)); }

  void Remove(const model::KeyHash& hash, KeyState& key, const model::Window& window) {
    deadlines_.Clear(IdOf(hash, window));
    std::erase_if(key.windows, [&](const Active& active) { return active.window == window; });
    key.rewrite = true;
  }

  // The watermark has passed the end of a window, or its time with allowed lateness: what has not been put out is, and it goes.
  Status OnEnd(const TimerId& id, KeyState& key) {
    Active* const active = Find(key, id.window);
    const model::EventTime expiry = strategy_.ExpiresAt(id.window);
    // A watermark that jumps over both comes to the end first: panes do not depend on the steps that it takes.
    const bool ends_first = active != nullptr && !active->end_is_over && id.window.MaxTimestamp() < expiry;
    if (watermark_ > expiry && !ends_first) {
      if (active != nullptr) {
        if (HasPane(*active, true)) HB_RETURN_IF_ERROR(Fire(key, *active, true));
        Remove(id.key, key, id.window);
      }
      std::erase(key.finished, id.window);
      key.rewrite = true;
      MarkDirty(id.key, key);
      if (key.windows.empty() && key.finished.empty()) Erase(id.key, key);
      return absl::OkStatus();
    }
    if (active == nullptr) return absl::OkStatus();  // it is finished, and its timer is set for later
    MarkDirty(id.key, key);
    active->dirty = true;
    // Panes that come of passing the end are on time; those of any later moment are not.
    HB_RETURN_IF_ERROR(FireIfReady(id.key, key, *active));
    if (Active* const open = Find(key, id.window)) {
      open->end_is_over = true;
      SetEnd(id.key, *open);
    }
    return absl::OkStatus();
  }

  // ---- The log -----------------------------------------------------------------------------------------------------------

  static Status Malformed() { return absl::DataLossError("the log holds malformed state of a grouping by merging windows"); }

  void LogChanges(const model::KeyHash& hash, std::string* out) {
    const Keys& keys = TableOf(hash.slice()).keys;
    const auto at = keys.find(hash);
    if (at == keys.end()) {
      out->push_back(static_cast<char>(KeyOp::kDrop));
      PutFixed64(out, hash.low);
      PutFixed64(out, hash.high);
      return;
    }
    KeyState& key = *at->second;
    if (!Traits::kAppends || key.rewrite) return LogKey(key, out);
    out->push_back(static_cast<char>(KeyOp::kAppend));
    model::Coder<Key>::Encode(key.key, out);
    PutVarint(out, static_cast<uint64_t>(std::count_if(key.windows.begin(), key.windows.end(), [](const Active& a) { return a.dirty; })));
    for (Active& active : key.windows) {
      if (active.dirty) LogAppended(active, out);
    }
    key.dirty = false;
  }

  void LogAppended(Active& active, std::string* out) {
    model::PutWindow(out, active.window);
    if constexpr (Traits::kAppends) {
      PutVarint(out, active.accumulator.size() - active.logged);
      for (size_t i = active.logged; i < active.accumulator.size(); ++i) model::Coder<Input>::Encode(active.accumulator[i], out);
      active.logged = static_cast<uint32_t>(active.accumulator.size());
    }
    LogProgress(active, out);
    active.dirty = false;
  }

  void LogKey(KeyState& key, std::string* out) {
    out->push_back(static_cast<char>(KeyOp::kPut));
    PutKey(key, out);
  }
  void PutKey(KeyState& key, std::string* out) {
    model::Coder<Key>::Encode(key.key, out);
    PutVarint(out, key.windows.size());
    for (Active& active : key.windows) {
      model::PutWindow(out, active.window);
      model::Coder<Accumulator>::Encode(active.accumulator, out);
      if constexpr (Traits::kAppends) active.logged = static_cast<uint32_t>(active.accumulator.size());
      LogProgress(active, out);
      active.dirty = false;
    }
    PutVarint(out, key.finished.size());
    for (const model::Window& window : key.finished) model::PutWindow(out, window);
    key.dirty = false;
    key.rewrite = false;
  }

  // All of a window but what it has gathered.
  void LogProgress(const Active& active, std::string* out) const {
    PutVarint(out, active.unfired);
    out->push_back(static_cast<char>((active.hold.is_held() ? 1 : 0) | (active.end_is_over ? 2 : 0)));
    if (active.hold.is_held()) model::Coder<model::EventTime>::Encode(active.hold.time(), out);
    machine_.Encode(active.trigger, out);
    EncodePaneState(active.pane, out);
  }
  bool RestoreProgress(ByteReader& in, Active* active) {
    active->unfired = static_cast<uint32_t>(in.Varint());
    const uint8_t flags = in.Byte();
    active->hold.Release();
    if (flags & 1) {
      model::EventTime time;
      if (!model::Coder<model::EventTime>::Decode(in, &time)) return false;
      active->hold = holds_.HoldAt(time);
    }
    active->end_is_over = (flags & 2) != 0;
    return machine_.Decode(&in, &active->trigger) && DecodePaneState(&in, &active->pane);
  }

  void Forget(model::KeyHash hash) {
    KeyState* const key = Find(hash);
    if (key == nullptr) return;
    ClearTimers(hash, *key);
    Erase(hash, *key);
  }
  void ClearTimers(const model::KeyHash& hash, const KeyState& key) {
    for (const Active& active : key.windows) {
      ends_.Clear(IdOf(hash, active.window));
      deadlines_.Clear(IdOf(hash, active.window));
    }
    for (const model::Window& window : key.finished) ends_.Clear(IdOf(hash, window));
  }
  void Erase(const model::KeyHash& hash, KeyState& key) {
    if (key.has_copy) cold_status_.Update(spill_->cells().Remove(model::Window::Global(), hash));
    TableOf(hash.slice()).keys.erase(hash);
  }
  Status ForgetAll(Table& table) {
    for (auto& [hash, key] : table.keys) ClearTimers(hash, *key);
    HB_RETURN_IF_ERROR(ForEachCold(table, [&](const model::KeyHash& hash, std::string_view bytes) -> Status {
      const std::unique_ptr<KeyState> key = Thaw(table, bytes);
      if (key != nullptr) ClearTimers(hash, *key);
      return key != nullptr ? absl::OkStatus() : Malformed();
    }));
    table.keys.clear();
    return spill_->Drop(model::Window::Global(), table.slice, &table.residence);
  }

  bool RestoreOp(ByteReader& in) {
    const auto op = static_cast<KeyOp>(in.Byte());
    if (op == KeyOp::kDrop) {
      model::KeyHash hash;
      hash.low = in.Fixed64();
      hash.high = in.Fixed64();
      if (in.ok()) Forget(hash);
      return in.ok();
    }
    Key key;
    if ((op != KeyOp::kPut && op != KeyOp::kAppend) || !model::Coder<Key>::Decode(in, &key)) return false;
    const model::KeyHash hash = model::HashKey(key);
    if (op == KeyOp::kAppend) {
      KeyState& appended = FindOrAdd(hash, key);
      appended.is_copied = false;
      return RestoreAppended(in, hash, appended);
    }
    Forget(hash);
    KeyState& restored = FindOrAdd(hash, key);
    if (!ReadWindows(in, &restored)) return false;
    for (const Active& active : restored.windows) ResumeTimers(hash, active);
    for (const model::Window& window : restored.finished) {
      ends_.Set(IdOf(hash, window), strategy_.ExpiresAt(window), window.MaxTimestamp());
    }
    return true;
  }

  // What follows the key in a put.
  bool ReadWindows(ByteReader& in, KeyState* key) {
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
      Active& active = key->windows.emplace_back();
      active.window = model::ReadWindow(in);
      if (!model::Coder<Accumulator>::Decode(in, &active.accumulator) || !RestoreProgress(in, &active)) return false;
      if constexpr (Traits::kAppends) active.logged = static_cast<uint32_t>(active.accumulator.size());
    }
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) key->finished.push_back(model::ReadWindow(in));
    return in.ok();
  }

  bool RestoreAppended(ByteReader& in, const model::KeyHash& hash, KeyState& key) {
    for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
      Active* const active = Find(key, model::ReadWindow(in));
      if (active == nullptr) return false;
      if constexpr (Traits::kAppends) {
        for (uint64_t values = in.Varint(); values > 0 && in.ok(); --values) {
          Input value;
          if (!model::Coder<Input>::Decode(in, &value)) return false;
          traits_.Add(&active->accumulator, std::move(value));
        }
        active->logged = static_cast<uint32_t>(active->accumulator.size());
      }
      if (!RestoreProgress(in, active)) return false;
      ResumeTimers(hash, *active);
    }
    return in.ok();
  }

  void ResumeTimers(const model::KeyHash& hash, const Active& active) {
    SetEnd(hash, active);
    now_ = model::ProcessingTime{};  // the least deadline, though it may have passed while nothing ran
    SetDeadline(hash, active);
  }

  // ---- Out of memory, and back ---------------------------------------------------------------------------------------------
  //
  // What goes wrong here fails the job when the epoch ends, before anything of it is sealed.

  // The key's state, which is out of memory, from there; null where there is none.
  std::unique_ptr<KeyState> Fetch(Table& table, const model::KeyHash& hash) {
    const StatusOr<bool> is_cold = spill_->cells().Get(model::Window::Global(), hash, &cold_bytes_);
    cold_status_.Update(is_cold.status());
    return is_cold.ok() && *is_cold ? Thaw(table, cold_bytes_) : nullptr;
  }

  // Its timers have stayed where they are.
  std::unique_ptr<KeyState> Thaw(Table& table, std::string_view bytes) {
    ByteReader in(bytes);
    auto key = std::make_unique<KeyState>();
    if (!model::Coder<Key>::Decode(in, &key->key) || !ReadWindows(in, key.get())) {
      cold_status_.Update(Malformed());
      return nullptr;
    }
    for (const Active& active : key->windows) {
      if (active.hold.is_held()) holds_.EndLeft(active.hold.time());
    }
    key->has_copy = key->is_copied = true;
    spill_->NoteThawed(&table.residence);
    return key;
  }

  template <typename Visit>
  Status ForEachCold(Table& table, Visit visit) {
    if (table.residence.cold_cells == 0) return absl::OkStatus();
    return spill_->cells().ForEach(model::Window::Global(), table.slice, [&](const model::KeyHash& hash, std::string_view bytes) {
      return table.keys.contains(hash) ? absl::OkStatus() : visit(hash, bytes);
    });
  }

  Status Evict(Table& table) {
    for (auto& [hash, key] : table.keys) {
      if (!key->is_copied) {
        cold_bytes_.clear();
        PutKey(*key, &cold_bytes_);
        HB_RETURN_IF_ERROR(spill_->cells().Put(model::Window::Global(), hash, cold_bytes_));
      }
      for (Active& active : key->windows) active.hold.Leave();
    }
    spill_->NoteEvicted(&table.residence, table.keys.size(), 0);
    table.keys = {};
    return absl::OkStatus();
  }

  auto Measuring() {
    return [this](Table& table) { Measure(table); };
  }
  auto Evicting() {
    return [this](const typename Tables::WindowEntry&, Table& table) { return Evict(table); };
  }
  void Measure(Table& table) {
    if (!spill_->is_limited()) return;
    constexpr size_t kSample = 8;
    size_t sampled = 0, bytes = 0;
    for (auto at = table.keys.begin(); at != table.keys.end() && sampled < kSample; ++at, ++sampled) bytes += BytesOf(*at->second);
    const size_t all = sampled == 0 ? 0 : bytes * table.keys.size() / sampled;
    spill_->Resize(&table.residence, all + table.keys.capacity() * (sizeof(typename Keys::value_type) + 1));
  }
  static size_t BytesOf(const KeyState& key) {
    size_t bytes = sizeof(KeyState) + model::kAllocationOverhead + model::HeapBytes(key.key) + model::HeapBytes(key.finished) +
                   key.windows.capacity() * sizeof(Active) + model::kAllocationOverhead;
    for (const Active& active : key.windows) bytes += model::HeapBytes(active.accumulator);
    return bytes;
  }

  const model::WindowingStrategy strategy_;
  const Traits traits_;
  const TriggerMachine machine_;
  std::optional<Spill> spill_;
  Status cold_status_;      // the first error
  std::string cold_bytes_;  // scratch

  HoldSet holds_;  // before the windows that hold
  Tables tables_;
  typename Tables::WindowEntry& all_ = tables_.FindOrAdd(model::Window::Global());
  EventTimerQueue ends_;  // of each active window its end or its expiry, of each finished one its expiry
  ProcessingTimerQueue deadlines_;
  std::vector<model::KeyHash> dirty_;
  std::unique_ptr<TypedBatch<Grouped>> panes_;
  model::EventTime watermark_ = model::EventTime::Min();
  model::EventTime output_watermark_ = model::EventTime::Min();
  model::ProcessingTime now_{};
  std::vector<model::Window> windows_;  // scratch of Join
  std::vector<model::CustomWindowFn::MergeResult> merges_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_MERGING_GROUPING_H_
