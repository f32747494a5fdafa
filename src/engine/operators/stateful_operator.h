// A ParDo with state and timers, but for the types of its elements: cells, timers, expiry, and what the log hears of them.
//
// State is by key and window: a cell (state/cell.h) in the table of its (window, slice). It goes when the window expires, and,
// where the DoFn has no OnWindowExpiration or the window is the global one, as soon as it is empty.
//
// Event time runs through what is due in its order: timers, then the expiry of windows. What user code has failed on and is
// parked (an element, a timer, an expiry) counts as input that is still to come, as in Beam: event time stands still in this
// operator, on this worker, until it has been dealt with, so no window expires over it.
//
// Cells leave memory when the job's state exceeds its budget (state/spill.h); their timers and holds stay. Those with a family of
// timers, or with something parked, stay themselves.
#ifndef HORNBEAM_ENGINE_OPERATORS_STATEFUL_OPERATOR_H_
#define HORNBEAM_ENGINE_OPERATORS_STATEFUL_OPERATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "engine/operator.h"
#include "engine/operators/bundle_finalizer.h"
#include "engine/operators/failed_element.h"
#include "engine/operators/parked_elements.h"
#include "engine/progress/holds.h"
#include "engine/state/cell.h"
#include "engine/state/cell_table.h"
#include "engine/state/spill.h"
#include "engine/state/state_frame.h"
#include "engine/state/state_member.h"
#include "engine/state/window_log.h"
#include "engine/state/window_slices.h"
#include "engine/timers/timer_context.h"
#include "engine/timers/timer_member.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

struct StatefulSettings {
  FailurePolicy policy = FailurePolicy::kFail;
  // The state of a key and window goes when so much processing time has passed since it was last written, unless one of its timers
  // is set. 0: it stays.
  model::Duration state_ttl{};
};

// When a cell was last written: a member that the operator has where there is a time to live.
class LastUse final : public StateMemberOf<int64_t> {
 public:
  static constexpr const char* kName = "#last_use";
  LastUse() : StateMemberOf<int64_t>(kName) {}

  std::string type() const override { return "last use"; }
  bool Commit(void*) override { return true; }
  void Rollback(void*) override {}
  void LogAll(void* slot, std::string* out) const override { PutSigned(out, *static_cast<int64_t*>(slot)); }
  void LogChanges(void* slot, std::string* out) const override { LogAll(slot, out); }
  bool Restore(void* slot, bool all, ByteReader& in, bool* filled) override {
    *static_cast<int64_t*>(slot) = in.Signed();
    *filled = true;
    return in.ok();
  }
};

class StatefulOperator : public Operator {
 public:
  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override;
  model::ProcessingTime NextProcessingTime() const override;
  Status OnProcessingTime(model::ProcessingTime now) override;
  Status OnMarker(EpochId epoch, EpochRecords* records) override;
  Status Rewrite(uint32_t unit, EpochRecords* records) override;
  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override;

 protected:
  // What the DoFn has beside ProcessElement.
  struct Methods {
    bool has_on_timer = false;
    bool has_on_window_expiration = false;
  };

  // `parked` is the typed half's, and need not be there yet. Failed elements go to output `failed_output`.
  StatefulOperator(const model::WindowingStrategy& strategy, const KeyType* key, const StatefulSettings& settings,
                   Methods methods, size_t failed_output, ParkedStore* parked);

  ~StatefulOperator() override = default;
  // The cells use the DoFn's members: the typed half ends with this, before these go.
  void DropState() { windows_ = Windows(); }

  // The DoFn's members are in `members()`. INVALID_ARGUMENT when two have one name, or there are too many.
  Status Open(const OperatorContext& context, int outputs) override;
  // Where the DoFn is copied to, inside a StateScope.
  StateMembers* members() { return &members_; }

  // User code, by the typed half. -----------------------------------------------------------------------------------------

  // Makes calls until one does not throw, as often as the job's options say; takes back what one that throws has done. The error
  // of the last one.
  virtual std::optional<std::string> Attempt(absl::FunctionRef<void()> call) = 0;
  virtual void CallOnTimer(const void* key, const TimerContext& context) = 0;
  virtual void CallOnWindowExpiration(const void* key, const ExpirationContext& context) = 0;
  // What calls put out from here on has this timestamp, in this window.
  virtual void TakeUpCall(model::EventTime timestamp, const model::Window& window) = 0;
  virtual Status EmitAll() = 0;
  // Fewer outputs wait than make a batch.
  virtual bool has_room() const = 0;
  virtual Status RetryElements(model::ProcessingTime now) = 0;
  virtual BundleFinalizer* finalizer() = 0;

  // For calls with an element. ----------------------------------------------------------------------------------------------

  struct Table {
    uint32_t slice = 0;
    std::optional<CellTable> cells;
    std::vector<Cell*> listed;  // that the log has to hear of
    std::string erased;         // keys that the log has to hear of, as operations
    Residence residence;
  };
  struct PerWindow {
    model::EventTime expires_at;
    Hold hold;  // where OnWindowExpiration is still to come
  };
  using Windows = WindowSlices<Table, PerWindow>;
  using WindowEntry = Windows::WindowEntry;
  struct Place {
    WindowEntry* in = nullptr;
    Table* table = nullptr;
    Cell* cell = nullptr;
    bool is_new = false;
  };

  bool IsExpired(const model::Window& window) const { return strategy_.IsExpired(window, watermark_); }
  void SetNow(model::ProcessingTime now) { frame_.now = now; }

  // The call is of this key and window from here on; its cell is made where there is none. REQUIRES: not expired.
  Place Enter(const model::Window& window, const model::KeyHash& hash, const void* key, model::EventTime timestamp) {
    WindowEntry& in = WindowAt(window);
    Table& table = TableAt(in, hash.slice());
    Place at{&in, &table, nullptr, false};
    at.cell = table.cells->FindOrAdd(hash, key, &at.is_new);
    if (at.is_new && table.residence.cold_cells > 0) FetchCold(&at);
    SetFrame(at, timestamp, timestamp);
    return at;
  }
  // The call has succeeded: what it has done holds.
  void Leave(const Place& at) {
    uint64_t changed = 0;
    for (StateMember* const member : frame_.touched) {
      member->EndCall();
      const uint64_t bit = uint64_t{1} << member->number();
      changed |= bit;
      if (member->Commit(layout_->slot(at.cell, member->number()))) {
        at.cell->filled |= bit;
      } else {
        at.cell->filled &= ~bit;
      }
    }
    frame_.touched.clear();
    frame_.cell = nullptr;
    if (changed != 0 || at.is_new) Settle(at, changed);
  }
  // The call has failed, or is to be made once more: it has done nothing.
  void RollbackCall();
  // The call has failed for good.
  void Abandon(const Place& at);
  // Timers that a call has set to a time that is over fire behind it.
  bool HasOverdue() const { return event_timers_.NextTime() < watermark_ || time_goes_on_; }
  Status FireOverdue() { return HasOverdue() ? RunEventTime() : absl::OkStatus(); }

  Status EmitFailed(FailedElement failed, model::EventTime timestamp, const model::Window& window,
                    const model::PaneInfo& pane);
  // What the policy comes to: a dead letter that nobody reads would be an element that vanished.
  FailurePolicy policy() const;
  void ReportParked();

 private:
  // In the place of a timer's number, in ids: OnWindowExpiration, and the time to live.
  static constexpr uint32_t kExpirationTag = UINT32_MAX - 1;
  static constexpr uint32_t kLifeTag = UINT32_MAX;

  // A timer or an expiry on which the DoFn has failed.
  struct ParkedCall {
    int64_t attempts = 0;
    std::string error;
    Hold stands;  // event time in this operator
    int64_t since_us = 0;
    model::ProcessingTime retry_at;
  };
  // A (window, slice) with something to log; `dropped` after all that was done in it.
  struct Dirty {
    uint32_t slice;
    model::Window window;
    bool dropped;
    friend auto operator<=>(const Dirty&, const Dirty&) = default;
  };
  class Log;

  WindowEntry& WindowAt(const model::Window& window) {
    bool is_new = false;
    WindowEntry& in = windows_.FindOrAdd(window, &is_new);
    if (is_new) AddWindow(in);
    return in;
  }
  void AddWindow(WindowEntry& in);
  Table& TableAt(WindowEntry& in, uint32_t slice) {
    Table& table = in.table(slice);
    if (!table.cells) table.cells.emplace(layout_.get());
    return table;
  }
  Place Find(const TimerId& id);
  void SetFrame(const Place& at, model::EventTime timestamp, model::EventTime event_now) {
    frame_.cell = reinterpret_cast<std::byte*>(at.cell);
    frame_.window = at.in->window;
    frame_.timestamp = timestamp;
    frame_.event_now = event_now;
    frame_.expires_at = at.in->state.expires_at;
  }

  // An empty cell need not be kept.
  bool ForgetsEmpty(const WindowEntry& in) const { return !methods_.has_on_window_expiration || in.window.is_global(); }
  void Settle(const Place& at, uint64_t changed);
  void MarkDirty(const Place& at);
  void NoteUse(const Place& at);
  void ReleaseTimers(const Place& at);
  void Forget(const Place& at);
  void DropWindow(WindowEntry& in);
  void DropIfEmpty(WindowEntry& in);

  // Event time stands still here while something is parked.
  model::EventTime StandsAt() const { return std::min(parked_->HeldTime(), call_stands_.Min()); }
  model::EventTime OutputWatermark() const;
  Status RunEventTime();
  Status Fire(const TimerId& id);
  Status FireLife(const Place& at);
  Status Expire(WindowEntry& in);
  Status RunExpiration(const Place& at);
  Status FailedCall(const TimerId& id, const Place& at, const std::string& what, model::EventTime timestamp, std::string error);
  void UnparkReplaced(const Place& at);
  Status RetryCalls(model::ProcessingTime now);
  ExpirationContext ContextOf(model::EventTime timestamp, const model::Window& window);

  // Cells out of memory. What goes wrong there fails the job when the epoch ends, before anything of it is sealed.
  void FetchCold(Place* at);
  void Thaw(ByteReader& in, Place* at);
  void ForEachCold(WindowEntry& in, Table& table, absl::FunctionRef<Status(const Place&)> visit);
  void ReleaseTable(WindowEntry& in, Table& table);
  bool StaysInMemory(const WindowEntry& in, Cell* cell) const;
  Status Evict(const WindowEntry& in, Table& table);
  void Measure(Table& table);
  auto Measuring() {
    return [this](Table& table) { Measure(table); };
  }
  auto Evicting() {
    return [this](const WindowEntry& in, Table& table) { return Evict(in, table); };
  }

  void LogTable(const Dirty& dirty, EpochId epoch, Log* log);
  void LogParked(EpochRecords* records);
  void ClearSlice(uint32_t slice);
  Status RestoreMembers(ByteReader& in, std::vector<StateMember*>* members);
  bool RestoreMember(const Place& at, StateMember& member, bool all, ByteReader& bytes);
  Status RestoreCell(uint32_t slice, WindowOp op, const std::vector<StateMember*>& members, WindowLogReader& log);
  void RestoreTime(model::EventTime time);
  void RestoreParkedTimer(const TimerId& id, model::EventTime stands);
  Status RestoreErase(uint32_t slice, WindowLogReader& log);
  Status RestoreDrop(uint32_t slice, const model::Window& window);

  const model::WindowingStrategy strategy_;
  const KeyType* const key_;
  const StatefulSettings settings_;
  const Methods methods_;
  const size_t failed_output_;
  ParkedStore* const parked_;

  LastUse last_use_;  // used where there is a time to live
  StateMembers members_;
  std::vector<TimerMember*> timers_;  // by member number; null for states
  std::unique_ptr<const CellLayout> layout_;
  StateFrame frame_;

  HoldSet holds_;        // of timers and windows: hold the output
  HoldSet call_stands_;  // of parked calls
  EventTimerQueue event_timers_;
  ProcessingTimerQueue processing_timers_;
  Windows windows_;      // behind what its cells use
  std::set<std::pair<model::EventTime, model::Window>> due_;  // when each window expires
  absl::flat_hash_map<TimerId, ParkedCall> parked_calls_;
  std::multimap<model::ProcessingTime, TimerId> call_retries_;
  std::optional<Spill> spill_;
  Status cold_status_;    // the first error
  std::string cold_bytes_;  // scratch
  bool time_goes_on_ = false;  // what it stood still for is parked no longer
  std::vector<Dirty> dirty_;

  model::EventTime input_watermark_ = model::EventTime::Min();
  model::EventTime watermark_ = model::EventTime::Min();  // how far event time has come here
  model::EventTime output_watermark_ = model::EventTime::Min();
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_STATEFUL_OPERATOR_H_
