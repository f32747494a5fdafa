#include "engine/operators/stateful_operator.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace hornbeam::engine {

using model::EventTime;
using model::ProcessingTime;

namespace {

Status Malformed() { return absl::DataLossError("the log holds malformed state of a ParDo"); }

}  // namespace

// A slice's record being written. The names of the members come in front of the first cell.
class StatefulOperator::Log {
 public:
  Log(const CellLayout& layout, std::string* out) : layout_(layout), out_(out), log_(out) {}

  bool empty() const { return !begun_; }
  std::string* Begin(WindowOp op, const model::Window& window) {
    if (!begun_) {
      begun_ = true;
      out_->push_back(static_cast<char>(WindowOp::kMembers));
      out_->append(layout_.declaration());
    }
    return log_.Begin(op, window);
  }
  // All of a cell, or what has changed in one that the log has.
  void Put(Cell* cell, const model::Window& window, bool all) {
    Encode(layout_, cell, all, &scratch_, Begin(all ? WindowOp::kPut : WindowOp::kAppend, window));
    cell->changed = 0;
    cell->is_logged = true;
  }

  // The operands of either.
  static void Encode(const CellLayout& layout, Cell* cell, bool all, std::string* scratch, std::string* out) {
    layout.key().encode(layout.key_of(cell), out);
    const uint64_t logged = all ? cell->filled : cell->changed;
    PutVarint(out, static_cast<uint64_t>(__builtin_popcountll(logged)));
    for (uint64_t left = logged; left != 0; left &= left - 1) {
      const auto number = static_cast<size_t>(__builtin_ctzll(left));
      StateMember& member = *layout.members()[number];
      scratch->clear();
      if (all) {
        member.LogAll(layout.slot(cell, number), scratch);
      } else {
        member.LogChanges(layout.slot(cell, number), scratch);
      }
      PutVarint(out, number);
      PutBytes(out, *scratch);
    }
  }

 private:
  const CellLayout& layout_;
  std::string* const out_;
  WindowLogWriter log_;
  bool begun_ = false;
  std::string scratch_;
};

StatefulOperator::StatefulOperator(const model::WindowingStrategy& strategy, const KeyType* key,
                                   const StatefulSettings& settings, Methods methods, size_t failed_output,
                                   ParkedStore* parked)
    : strategy_(strategy),
      key_(key),
      settings_(settings),
      methods_(methods),
      failed_output_(failed_output),
      parked_(parked) {
  frame_.event_timers = &event_timers_;
  frame_.processing_timers = &processing_timers_;
  frame_.holds = &holds_;
}

Status StatefulOperator::Open(const OperatorContext& context, int outputs) {
  HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
  metrics().SetClock(context.job->options().clock);
  spill_.emplace(context);
  std::vector<StateMember*> members = members_.all();
  if (settings_.state_ttl > model::Duration{}) members.push_back(&last_use_);
  if (members.size() > CellLayout::kMostMembers) {
    return absl::InvalidArgumentError(absl::StrCat("a DoFn can have ", CellLayout::kMostMembers - 1,
                                                   " states and timers at most; this one has ", members_.all().size()));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (members[i]->name() != members[j]->name()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two states or timers of a DoFn are called '", members[i]->name(), "': give each a name of its own"));
    }
    members[i]->Use(&frame_);
    timers_.push_back(dynamic_cast<TimerMember*>(members[i]));
    if (timers_.back() != nullptr && !methods_.has_on_timer) {
      return absl::InvalidArgumentError(
          absl::StrCat("the DoFn declares the timer '", members[i]->name(),
                       "' and has no OnTimer(const K&, const TimerContext&, OutputReceiver<Out>&...)"));
    }
  }
  layout_ = std::make_unique<CellLayout>(key_, std::move(members));
  return absl::OkStatus();
}

// Windows and cells. -----------------------------------------------------------------------------------------------------

void StatefulOperator::AddWindow(WindowEntry& in) {
  in.state.expires_at = strategy_.ExpiresAt(in.window);
  due_.insert({in.state.expires_at, in.window});
  // What OnWindowExpiration puts out has the last timestamp of the window (Beam).
  if (methods_.has_on_window_expiration) in.state.hold = holds_.HoldAt(in.window.MaxTimestamp());
}

StatefulOperator::Place StatefulOperator::Find(const TimerId& id) {
  WindowEntry* const in = windows_.Find(id.window);
  if (in == nullptr) return {};
  Table* const table = in->tables[id.key.slice()].get();
  if (table == nullptr || !table->cells) return {};
  Place at{in, table, table->cells->Find(id.key), false};
  if (at.cell != nullptr || table->residence.cold_cells == 0) return at;
  const StatusOr<bool> is_cold = spill_->cells().Get(id.window, id.key, &cold_bytes_);
  cold_status_.Update(is_cold.status());
  if (!is_cold.ok() || !*is_cold) return at;
  ByteReader in_store(cold_bytes_);
  const std::unique_ptr<void, void (*)(void*)> key(key_->decode(in_store), key_->free);
  if (key == nullptr) {
    cold_status_.Update(Malformed());
    return at;
  }
  at.cell = table->cells->FindOrAdd(id.key, key.get(), &at.is_new);
  Thaw(in_store, &at);
  // The timer that asks has been taken from its queue, to which it has come back with its cell.
  event_timers_.Clear(id);
  processing_timers_.Clear(id);
  return at;
}

void StatefulOperator::RollbackCall() {
  auto* const cell = reinterpret_cast<Cell*>(frame_.cell);
  for (StateMember* const member : frame_.touched) {
    member->EndCall();
    member->Rollback(layout_->slot(cell, member->number()));
  }
  frame_.touched.clear();
}

void StatefulOperator::Abandon(const Place& at) {
  frame_.cell = nullptr;
  if (at.is_new) Forget(at);
}

void StatefulOperator::Settle(const Place& at, uint64_t changed) {
  Cell* const cell = at.cell;
  cell->changed |= changed;
  cell->is_copied = false;
  if (!parked_calls_.empty()) UnparkReplaced(at);
  if (changed != 0 && settings_.state_ttl > model::Duration{}) NoteUse(at);
  const uint64_t life = settings_.state_ttl > model::Duration{} ? uint64_t{1} << last_use_.number() : 0;
  if ((cell->filled & ~life) == 0 && ForgetsEmpty(*at.in)) return Forget(at);
  if (cell->is_listed) return;
  MarkDirty(at);
  cell->is_listed = true;
  at.table->listed.push_back(cell);
}

void StatefulOperator::MarkDirty(const Place& at) {
  if (at.table->listed.empty() && at.table->erased.empty()) dirty_.push_back({at.table->slice, at.in->window, false});
}

void StatefulOperator::NoteUse(const Place& at) {
  const uint64_t bit = uint64_t{1} << last_use_.number();
  const TimerId id{at.cell->hash, at.in->window, kLifeTag};
  // The timer is not moved with each use: it looks when it fires.
  if ((at.cell->filled & bit) == 0) {
    processing_timers_.Set(id, frame_.now + settings_.state_ttl, at.in->window.MaxTimestamp());
  }
  *static_cast<int64_t*>(layout_->slot(at.cell, last_use_.number())) = frame_.now.us;
  at.cell->filled |= bit;
  at.cell->changed |= bit;
}

void StatefulOperator::ReleaseTimers(const Place& at) {
  SetFrame(at, {}, {});
  for (uint64_t left = at.cell->filled; left != 0; left &= left - 1) {
    const auto number = static_cast<size_t>(__builtin_ctzll(left));
    if (timers_[number] != nullptr) timers_[number]->Forget(layout_->slot(at.cell, number));
  }
  if (settings_.state_ttl > model::Duration{}) processing_timers_.Clear({at.cell->hash, at.in->window, kLifeTag});
  frame_.cell = nullptr;
}

// The cell goes, with all that it holds.
void StatefulOperator::Forget(const Place& at) {
  Cell* const cell = at.cell;
  if (cell->filled != 0) ReleaseTimers(at);
  if (cell->has_copy) cold_status_.Update(spill_->cells().Remove(at.in->window, cell->hash));
  if (cell->is_logged) {
    MarkDirty(at);
    at.table->erased.push_back(static_cast<char>(WindowOp::kErase));
    key_->encode(layout_->key_of(cell), &at.table->erased);
  }
  if (cell->is_listed) {
    at.table->cells->Retire(cell);
  } else {
    at.table->cells->Drop(cell);
  }
}

void StatefulOperator::DropWindow(WindowEntry& in) {
  for (uint32_t slice = 0; slice < model::kKeySlices; ++slice) {
    Table* const table = in.tables[slice].get();
    if (table == nullptr) continue;
    ReleaseTable(in, *table);
    dirty_.push_back({slice, in.window, true});
  }
  due_.erase({in.state.expires_at, in.window});
  windows_.Drop(model::Window(in.window));
}

void StatefulOperator::DropIfEmpty(WindowEntry& in) {
  const bool empty = std::all_of(in.tables.begin(), in.tables.end(), [](const std::unique_ptr<Table>& table) {
    return table == nullptr || (table->cells->empty() && table->residence.cold_cells == 0);
  });
  if (empty) DropWindow(in);
}

// Out of memory, and back. -----------------------------------------------------------------------------------------------

// `at` has a new cell: it is the one that is out of memory, if there is one.
void StatefulOperator::FetchCold(Place* at) {
  const StatusOr<bool> is_cold = spill_->cells().Get(at->in->window, at->cell->hash, &cold_bytes_);
  cold_status_.Update(is_cold.status());
  if (!is_cold.ok() || !*is_cold) return;
  ByteReader in(cold_bytes_);
  const std::unique_ptr<void, void (*)(void*)> key(key_->decode(in), key_->free);
  if (key == nullptr) return cold_status_.Update(Malformed());
  if (!key_->equal(key.get(), layout_->key_of(at->cell))) {
    return cold_status_.Update(absl::InternalError("two keys have the same hash of 128 bits; the state of one is lost"));
  }
  Thaw(in, at);
}

// `in` is behind the key.
void StatefulOperator::Thaw(ByteReader& in, Place* at) {
  SetFrame(*at, {}, {});
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    const uint64_t number = in.Varint();
    ByteReader bytes(in.Bytes());
    if (number >= layout_->members().size() || !RestoreMember(*at, *layout_->members()[number], /*all=*/true, bytes)) {
      return cold_status_.Update(Malformed());
    }
    if (timers_[number] == nullptr) continue;
    timers_[number]->ForEach(layout_->slot(at->cell, number), [this](uint32_t, const SetTimer& timer) {
      if (timer.hold.is_held()) holds_.EndLeft(timer.hold.time());
    });
  }
  if (!in.ok()) cold_status_.Update(Malformed());
  frame_.cell = nullptr;
  at->is_new = false;
  at->cell->is_logged = at->cell->has_copy = at->cell->is_copied = true;
  spill_->NoteThawed(&at->table->residence);
}

void StatefulOperator::ForEachCold(WindowEntry& in, Table& table, absl::FunctionRef<Status(const Place&)> visit) {
  if (table.residence.cold_cells == 0) return;
  cold_status_.Update(spill_->cells().ForEach(in.window, table.slice, [&](const model::KeyHash& hash, std::string_view bytes) {
    if (table.cells->Find(hash) != nullptr) return absl::OkStatus();
    ByteReader reader(bytes);
    const std::unique_ptr<void, void (*)(void*)> key(key_->decode(reader), key_->free);
    if (key == nullptr) return Malformed();
    Place at{&in, &table, nullptr, false};
    at.cell = table.cells->FindOrAdd(hash, key.get(), &at.is_new);
    Thaw(reader, &at);
    return visit(at);
  }));
}

// The table is about to go: its cells' timers and holds do.
void StatefulOperator::ReleaseTable(WindowEntry& in, Table& table) {
  table.cells->ForEach([&](Cell* cell) { ReleaseTimers({&in, &table, cell, false}); });
  const bool has_timers = std::any_of(timers_.begin(), timers_.end(), [](const TimerMember* timer) { return timer != nullptr; });
  if (has_timers || settings_.state_ttl > model::Duration{}) {
    ForEachCold(in, table, [&](const Place& at) {
      ReleaseTimers(at);
      table.cells->Drop(at.cell);
      return absl::OkStatus();
    });
  }
  cold_status_.Update(spill_->Drop(in.window, table.slice, &table.residence));
}

bool StatefulOperator::StaysInMemory(const WindowEntry& in, Cell* cell) const {
  if (!parked_calls_.empty() && parked_calls_.contains({cell->hash, in.window, kExpirationTag})) return true;
  for (size_t number = 0; number < timers_.size(); ++number) {
    if (timers_[number] == nullptr || (cell->filled >> number & 1) == 0) continue;
    const auto& slot = *static_cast<const TimerSlot*>(layout_->slot(cell, number));
    if (slot.family != nullptr || (slot.timer && slot.timer->parked_at)) return true;
  }
  return false;
}

Status StatefulOperator::Evict(const WindowEntry& in, Table& table) {
  std::vector<Cell*> leave;
  Status status;
  std::string bytes, scratch;
  table.cells->ForEach([&](Cell* cell) {
    if (StaysInMemory(in, cell)) return;
    leave.push_back(cell);
    if (cell->is_copied) return;
    bytes.clear();
    Log::Encode(*layout_, cell, /*all=*/true, &scratch, &bytes);
    status.Update(spill_->cells().Put(in.window, cell->hash, bytes));
  });
  HB_RETURN_IF_ERROR(status);
  for (Cell* const cell : leave) {
    for (size_t number = 0; number < timers_.size(); ++number) {
      if (timers_[number] == nullptr || (cell->filled >> number & 1) == 0) continue;
      auto& slot = *static_cast<TimerSlot*>(layout_->slot(cell, number));
      if (slot.timer) slot.timer->hold.Leave();
    }
  }
  if (leave.size() == table.cells->size()) {
    table.cells.emplace(layout_.get());
  } else {
    for (Cell* const cell : leave) table.cells->Drop(cell);
  }
  spill_->NoteEvicted(&table.residence, leave.size(), table.cells->size_bytes());
  return absl::OkStatus();
}

// What members have allocated is taken to be what they take in the log.
void StatefulOperator::Measure(Table& table) {
  if (!spill_->is_limited()) return;
  constexpr size_t kSample = 4;
  std::string bytes, scratch;
  table.cells->ForSome(kSample, [&](Cell* cell) { Log::Encode(*layout_, cell, /*all=*/true, &scratch, &bytes); });
  const size_t sampled = std::min(kSample, table.cells->size());
  const size_t heap = sampled == 0 ? 0 : bytes.size() * table.cells->size() / sampled;
  spill_->Resize(&table.residence, table.cells->size_bytes() + heap);
}

// Time. ------------------------------------------------------------------------------------------------------------------

EventTime StatefulOperator::OutputWatermark() const {
  return std::min({watermark_, holds_.Min(), parked_->HeldTime()});
}

StatusOr<EventTime> StatefulOperator::AdvanceWatermark(EventTime input) {
  input_watermark_ = std::max(input_watermark_, input);
  SetNow(context().job->Now());
  HB_RETURN_IF_ERROR(RunEventTime());
  HB_RETURN_IF_ERROR(EmitAll());
  ReportParked();
  output_watermark_ = std::max(output_watermark_, OutputWatermark());
  return output_watermark_;
}

Status StatefulOperator::RunEventTime() {
  time_goes_on_ = false;
  for (;;) {
    // Parked calls may have been added by the last turn.
    const EventTime limit = std::max(watermark_, std::min(input_watermark_, StandsAt()));
    const EventTime timer = event_timers_.NextTime();
    const EventTime expiry = due_.empty() ? EventTime::Max() : due_.begin()->first;
    if (timer < limit && timer <= expiry) {
      watermark_ = std::max(watermark_, timer);  // not past it: where it is parked, its window may end at this very instant
      HB_RETURN_IF_ERROR(Fire(event_timers_.PopDue(timer)->id));
    } else if (expiry < limit) {
      watermark_ = std::max(watermark_, expiry + model::Micros(1));
      WindowEntry* const in = windows_.Find(due_.begin()->second);
      due_.erase(due_.begin());
      HB_RETURN_IF_ERROR(Expire(*in));
    } else {
      watermark_ = limit;
      return absl::OkStatus();
    }
    if (!has_room()) HB_RETURN_IF_ERROR(EmitAll());
  }
}

ProcessingTime StatefulOperator::NextProcessingTime() const {
  const ProcessingTime calls = call_retries_.empty() ? ProcessingTime::Never() : call_retries_.begin()->first;
  return std::min({processing_timers_.NextTime(), calls, parked_->NextRetry()});
}

Status StatefulOperator::OnProcessingTime(ProcessingTime now) {
  SetNow(now);
  while (const auto timer = processing_timers_.PopDue(now)) {
    HB_RETURN_IF_ERROR(Fire(timer->id));
    HB_RETURN_IF_ERROR(FireOverdue());
    if (!has_room()) HB_RETURN_IF_ERROR(EmitAll());
  }
  HB_RETURN_IF_ERROR(RetryCalls(now));
  HB_RETURN_IF_ERROR(RetryElements(now));
  HB_RETURN_IF_ERROR(FireOverdue());
  ReportParked();
  return EmitAll();
}

ExpirationContext StatefulOperator::ContextOf(EventTime timestamp, const model::Window& window) {
  return {timestamp, window, frame_.now, &context().name, finalizer()};
}

Status StatefulOperator::Fire(const TimerId& id) {
  const Place at = Find(id);
  if (at.cell == nullptr) return absl::OkStatus();
  if (id.tag == kLifeTag) return FireLife(at);
  const size_t number = TimerMember::MemberOf(id.tag);
  TimerMember& member = *timers_[number];
  std::string_view tag_view;
  const SetTimer* const timer = member.Find(layout_->slot(at.cell, number), id.tag, &tag_view);
  if (timer == nullptr) return absl::OkStatus();
  const bool is_event = member.domain() == TimeDomain::kEventTime;
  // Of a window that is over and waits for a parked OnWindowExpiration alone.
  if (!is_event && IsExpired(id.window)) return absl::OkStatus();
  const std::string tag(tag_view);
  const EventTime timestamp = timer->output_timestamp;
  const TimerContext call(ContextOf(timestamp, id.window), &member, tag, timer->time_us);
  TakeUpCall(timestamp, id.window);
  SetFrame(at, timestamp, is_event ? EventTime{timer->time_us} : timestamp);
  std::optional<std::string> error = Attempt([&] {
    member.ClearFired(tag);
    CallOnTimer(layout_->key_of(at.cell), call);
  });
  if (!error) {
    Leave(at);
    return absl::OkStatus();
  }
  const std::string what = absl::StrCat("timer '", member.name(), tag.empty() ? "" : "' with the tag '", tag, "'");
  HB_RETURN_IF_ERROR(FailedCall(id, at, what, timestamp, std::move(*error)));
  if (policy() == FailurePolicy::kDeadLetter) {
    member.ClearFired(tag);
    Leave(at);
    return absl::OkStatus();
  }
  frame_.cell = nullptr;
  if (timer->parked_at) return absl::OkStatus();
  member.Park(layout_->slot(at.cell, number), id.tag, watermark_);
  Settle(at, uint64_t{1} << number);
  return absl::OkStatus();
}

Status StatefulOperator::FireLife(const Place& at) {
  const TimerId id{at.cell->hash, at.in->window, kLifeTag};
  const ProcessingTime used{*static_cast<int64_t*>(layout_->slot(at.cell, last_use_.number()))};
  bool has_timer = false;
  for (size_t i = 0; i < timers_.size(); ++i) has_timer |= timers_[i] != nullptr && (at.cell->filled >> i & 1) != 0;
  if (!has_timer && used + settings_.state_ttl <= frame_.now) {
    Forget(at);
    return absl::OkStatus();
  }
  processing_timers_.Set(id, (has_timer ? frame_.now : used) + settings_.state_ttl, at.in->window.MaxTimestamp());
  return absl::OkStatus();
}

// The window is over. Cells go one by one where the DoFn has a last word, as that may fail.
Status StatefulOperator::Expire(WindowEntry& in) {
  if (!methods_.has_on_window_expiration) {
    DropWindow(in);
    return absl::OkStatus();
  }
  for (const std::unique_ptr<Table>& table : in.tables) {
    if (table == nullptr) continue;
    std::vector<Cell*> cells;
    table->cells->ForEach([&](Cell* cell) { cells.push_back(cell); });
    const auto expire = [&](const Place& at) -> Status {
      HB_RETURN_IF_ERROR(RunExpiration(at));
      return has_room() ? absl::OkStatus() : EmitAll();
    };
    for (Cell* const cell : cells) HB_RETURN_IF_ERROR(expire({&in, table.get(), cell, false}));
    ForEachCold(in, *table, expire);
    HB_RETURN_IF_ERROR(cold_status_);
  }
  DropIfEmpty(in);
  return absl::OkStatus();
}

Status StatefulOperator::RunExpiration(const Place& at) {
  const model::Window window = at.in->window;
  const EventTime timestamp = window.MaxTimestamp();
  TakeUpCall(timestamp, window);
  SetFrame(at, timestamp, at.in->state.expires_at);
  std::optional<std::string> error =
      Attempt([&] { CallOnWindowExpiration(layout_->key_of(at.cell), ContextOf(timestamp, window)); });
  RollbackCall();  // its state goes in any case
  frame_.cell = nullptr;
  if (error) {
    const TimerId id{at.cell->hash, window, kExpirationTag};
    HB_RETURN_IF_ERROR(FailedCall(id, at, "OnWindowExpiration", timestamp, std::move(*error)));
    if (policy() == FailurePolicy::kRetry) return absl::OkStatus();
  }
  Forget(at);
  return absl::OkStatus();
}

// Failures. --------------------------------------------------------------------------------------------------------------

FailurePolicy StatefulOperator::policy() const {
  const bool is_unread =
      settings_.policy == FailurePolicy::kDeadLetter && !output(failed_output_).has_consumers();
  return is_unread ? FailurePolicy::kFail : settings_.policy;
}

Status StatefulOperator::EmitFailed(FailedElement failed, EventTime timestamp, const model::Window& window,
                                    const model::PaneInfo& pane) {
  auto batch = std::make_unique<TypedBatch<FailedElement>>();
  batch->Append(std::move(failed), timestamp, window, pane);
  return output(failed_output_).Emit(std::move(batch));
}

Status StatefulOperator::FailedCall(const TimerId& id, const Place& at, const std::string& what, EventTime timestamp,
                                    std::string error) {
  OperatorCounters::Add(counters().failed, 1);
  const int attempts = context().job->options().attempts;
  std::string key;
  key_->encode(layout_->key_of(at.cell), &key);
  switch (policy()) {
    case FailurePolicy::kFail:
      return absl::AbortedError(absl::StrCat(
          what, " failed in window ", ToString(id.window), ": ", error, "; the key: ", absl::Utf8SafeCEscape(key.substr(0, 500)),
          "; read the transform's failures() to have such failures as dead letters instead"));
    case FailurePolicy::kDeadLetter:
      return EmitFailed({context().name, absl::StrCat(what, ": ", error), ToString(id.window), timestamp, key, attempts},
                        timestamp, id.window, model::PaneInfo::NoFiring());
    case FailurePolicy::kRetry: {
      ParkedCall& parked = parked_calls_[id];
      if (parked.attempts == 0) {
        parked.since_us = frame_.now.us;
        parked.stands = call_stands_.HoldAt(watermark_);
      }
      parked.attempts += attempts;
      parked.error = absl::StrCat(what, ": ", error);
      parked.retry_at = frame_.now + Backoff(parked.attempts, attempts);
      call_retries_.insert({parked.retry_at, id});
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

// A parked timer of the cell that has been cleared, or set anew and is in its queue, is no longer the one that was parked.
void StatefulOperator::UnparkReplaced(const Place& at) {
  const size_t erased = absl::erase_if(parked_calls_, [&](const auto& parked) {
    const TimerId& id = parked.first;
    if (id.tag == kExpirationTag || id.key != at.cell->hash || id.window != at.in->window) return false;
    const size_t number = TimerMember::MemberOf(id.tag);
    std::string_view tag;
    return timers_[number]->Find(layout_->slot(at.cell, number), id.tag, &tag) == nullptr ||
           event_timers_.Find(id).has_value() || processing_timers_.Find(id).has_value();
  });
  time_goes_on_ |= erased > 0;
}

Status StatefulOperator::RetryCalls(ProcessingTime now) {
  while (!call_retries_.empty() && call_retries_.begin()->first <= now) {
    const auto [at, id] = *call_retries_.begin();
    call_retries_.erase(call_retries_.begin());
    const auto parked = parked_calls_.find(id);
    if (parked == parked_calls_.end() || parked->second.retry_at != at) continue;
    const int64_t attempts = parked->second.attempts;
    if (id.tag == kExpirationTag) {
      const Place place = Find(id);
      if (place.cell != nullptr) HB_RETURN_IF_ERROR(RunExpiration(place));
    } else {
      HB_RETURN_IF_ERROR(Fire(id));
    }
    const auto still = parked_calls_.find(id);
    if (still != parked_calls_.end() && still->second.attempts == attempts) parked_calls_.erase(still);  // or its cell is gone
    if (WindowEntry* const in = windows_.Find(id.window); id.tag == kExpirationTag && in != nullptr) DropIfEmpty(*in);
    if (!has_room()) HB_RETURN_IF_ERROR(EmitAll());
  }
  return absl::OkStatus();
}

void StatefulOperator::ReportParked() {
  ParkedSnapshot snapshot = parked_->Snapshot();
  for (const auto& [id, parked] : parked_calls_) {
    snapshot.Merge({1, parked.since_us, EventTime::Max(), parked.error});
  }
  if (snapshot.count > 0) snapshot.holds = OutputWatermark();
  parked_report().Set(std::move(snapshot));
}

// The log. ---------------------------------------------------------------------------------------------------------------

Status StatefulOperator::OnMarker(EpochId epoch, EpochRecords* records) {
  std::sort(dirty_.begin(), dirty_.end());
  size_t from = 0;
  while (from < dirty_.size()) {
    const uint32_t slice = dirty_[from].slice;
    Log log(*layout_, records->Begin(context().id, slice, false));
    for (; from < dirty_.size() && dirty_[from].slice == slice; ++from) LogTable(dirty_[from], epoch, &log);
    log.empty() ? records->Abandon() : records->End();
  }
  dirty_.clear();
  LogParked(records);
  cold_status_.Update(spill_->EndEpoch(windows_, Measuring(), Evicting()));
  return cold_status_;
}

void StatefulOperator::LogTable(const Dirty& dirty, EpochId epoch, Log* log) {
  if (dirty.dropped) {
    log->Begin(WindowOp::kDrop, dirty.window);
    return;
  }
  WindowEntry* const in = windows_.Find(dirty.window);
  if (in == nullptr) return;
  Table& table = *in->tables[dirty.slice];
  if (!table.erased.empty()) {
    // The first operation's code is written by Begin.
    log->Begin(WindowOp::kErase, dirty.window)->append(table.erased, 1);
    table.erased.clear();
  }
  for (Cell* const cell : table.listed) {
    cell->is_listed = false;
    if (!cell->is_removed) log->Put(cell, dirty.window, !cell->is_logged);
  }
  table.listed.clear();
  table.cells->FreeRetired();
  table.residence.touched = epoch;
  // A sample may cost as much as the cells are large.
  constexpr EpochId kMeasuredEvery = 16;
  if (table.residence.bytes == 0 || (epoch + dirty.slice) % kMeasuredEvery == 0) Measure(table);
}

void StatefulOperator::LogParked(EpochRecords* records) {
  for (const auto& [slice, changes] : parked_->TakeChanges()) {
    std::string* const out = records->Begin(context().id, slice, false);
    out->push_back(static_cast<char>(WindowOp::kTime));
    PutSigned(out, watermark_.us);
    out->push_back(static_cast<char>(WindowOp::kParked));
    PutBytes(out, changes);
    records->End();
  }
}

Status StatefulOperator::Rewrite(uint32_t unit, EpochRecords* records) {
  std::string* const out = records->Begin(context().id, unit, true);
  Log log(*layout_, out);
  windows_.ForEach([&](WindowEntry& in) {
    if (in.tables[unit] == nullptr) return;
    Table& table = *in.tables[unit];
    table.cells->ForEach([&](Cell* cell) { log.Put(cell, in.window, true); });
    if (table.residence.cold_cells == 0) return;
    // The others are in the store as they are in the log.
    cold_status_.Update(spill_->cells().ForEach(in.window, unit, [&](const model::KeyHash& hash, std::string_view bytes) {
      if (table.cells->Find(hash) == nullptr) log.Begin(WindowOp::kPut, in.window)->append(bytes);
      return absl::OkStatus();
    }));
  });
  std::string parked;
  parked_->LogAll(unit, &parked);
  if (!parked.empty()) {
    out->push_back(static_cast<char>(WindowOp::kTime));
    PutSigned(out, watermark_.us);
    out->push_back(static_cast<char>(WindowOp::kParked));
    PutBytes(out, parked);
  }
  records->End();
  return cold_status_;
}

void StatefulOperator::ClearSlice(uint32_t slice) {
  std::vector<model::Window> windows;
  windows_.ForEach([&](WindowEntry& in) { windows.push_back(in.window); });
  for (const model::Window& window : windows) (void)RestoreDrop(slice, window);
  parked_->ForgetRestored(slice);
}

Status StatefulOperator::Restore(uint32_t unit, bool replaces, std::string_view payload) {
  if (replaces) ClearSlice(unit);
  SetNow(context().job->Now());
  WindowLogReader log(payload);
  std::vector<StateMember*> members;
  WindowOp op;
  while (log.Next(&op)) {
    switch (op) {
      case WindowOp::kMembers: HB_RETURN_IF_ERROR(RestoreMembers(log.in, &members)); break;
      case WindowOp::kPut:
      case WindowOp::kAppend: HB_RETURN_IF_ERROR(RestoreCell(unit, op, members, log)); break;
      case WindowOp::kErase: HB_RETURN_IF_ERROR(RestoreErase(unit, log)); break;
      case WindowOp::kDrop: HB_RETURN_IF_ERROR(RestoreDrop(unit, log.window)); break;
      case WindowOp::kTime: RestoreTime(EventTime{log.in.Signed()}); break;
      case WindowOp::kParked: HB_RETURN_IF_ERROR(parked_->Restore(unit, true, log.in.Bytes())); break;
      default: return Malformed();
    }
  }
  ReportParked();
  if (!log.in.ok() || !log.in.done()) return Malformed();
  cold_status_.Update(spill_->AfterRestore(payload.size(), windows_, Measuring(), Evicting()));
  return cold_status_;
}

// The least of what its slices knew: a worker that takes over for several must not be ahead of what any has parked.
void StatefulOperator::RestoreTime(EventTime time) {
  watermark_ = watermark_ == EventTime::Min() ? time : std::min(watermark_, time);
}

Status StatefulOperator::RestoreMembers(ByteReader& in, std::vector<StateMember*>* members) {
  members->clear();
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    const std::string_view name = in.Bytes();
    const uint32_t type = in.Fixed32();
    const auto& known = layout_->members();
    const auto at = std::find_if(known.begin(), known.end(), [&](const StateMember* m) { return m->name() == name; });
    members->push_back(at == known.end() ? nullptr : *at);
    if (at == known.end() && name != LastUse::kName) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the state directory holds a state or timer '", absl::string_view(name.data(), name.size()), "' of '",
          context().name, "', which its DoFn does not declare; declare it, or give the step another name"));
    }
    if (at != known.end() && Checksum((*at)->type()) != type) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the state directory holds '", (*at)->name(), "' of '", context().name, "' as another type than the ", (*at)->type(),
          " that its DoFn declares; give the state or the step another name"));
    }
  }
  return in.ok() ? absl::OkStatus() : Malformed();
}

Status StatefulOperator::RestoreCell(uint32_t slice, WindowOp op, const std::vector<StateMember*>& members,
                                     WindowLogReader& log) {
  const std::unique_ptr<void, void (*)(void*)> key(key_->decode(log.in), key_->free);
  if (key == nullptr) return Malformed();
  const model::KeyHash hash = key_->hash(key.get());
  if (hash.slice() != slice) return Malformed();
  const Place at = Enter(log.window, hash, key.get(), {});
  for (uint64_t left = log.in.Varint(); left > 0 && log.in.ok(); --left) {
    const uint64_t number = log.in.Varint();
    ByteReader bytes(log.in.Bytes());
    if (number >= members.size()) return Malformed();
    StateMember* const member = members[number];
    if (member == nullptr) continue;  // of a time to live that there is no longer
    if (!RestoreMember(at, *member, op == WindowOp::kPut, bytes)) return Malformed();
    if (const TimerMember* const timers = timers_[member->number()]) {
      timers->ForEach(layout_->slot(at.cell, member->number()), [&](uint32_t tag, const SetTimer& timer) {
        if (timer.parked_at) RestoreParkedTimer({hash, log.window, tag}, *timer.parked_at);
      });
    }
    if (member == &last_use_) {
      const ProcessingTime used{*static_cast<int64_t*>(layout_->slot(at.cell, member->number()))};
      processing_timers_.Set({hash, log.window, kLifeTag}, used + settings_.state_ttl, log.window.MaxTimestamp());
    }
  }
  at.cell->is_logged = true;
  at.cell->is_copied = false;
  frame_.cell = nullptr;
  return log.in.ok() ? absl::OkStatus() : Malformed();
}

bool StatefulOperator::RestoreMember(const Place& at, StateMember& member, bool all, ByteReader& bytes) {
  bool filled = false;
  if (!member.Restore(layout_->slot(at.cell, member.number()), all, bytes, &filled) || !bytes.done()) return false;
  const uint64_t bit = uint64_t{1} << member.number();
  at.cell->filled = filled ? at.cell->filled | bit : at.cell->filled & ~bit;
  return true;
}

void StatefulOperator::RestoreParkedTimer(const TimerId& id, EventTime stands) {
  RestoreTime(stands);
  ParkedCall& parked = parked_calls_[id];
  parked = {context().job->options().attempts, "a timer that had failed before the restart", call_stands_.HoldAt(stands),
            frame_.now.us, frame_.now};
  call_retries_.insert({parked.retry_at, id});
}

Status StatefulOperator::RestoreErase(uint32_t slice, WindowLogReader& log) {
  const std::unique_ptr<void, void (*)(void*)> key(key_->decode(log.in), key_->free);
  if (key == nullptr) return Malformed();
  const Place at = Find({key_->hash(key.get()), log.window, 0});
  if (at.cell == nullptr) return Malformed();
  ReleaseTimers(at);
  if (at.cell->has_copy) HB_RETURN_IF_ERROR(spill_->cells().Remove(log.window, at.cell->hash));
  at.table->cells->Drop(at.cell);
  return absl::OkStatus();
}

Status StatefulOperator::RestoreDrop(uint32_t slice, const model::Window& window) {
  WindowEntry* const in = windows_.Find(window);
  if (in == nullptr || in->tables[slice] == nullptr) return absl::OkStatus();
  ReleaseTable(*in, *in->tables[slice]);
  in->tables[slice] = nullptr;
  const bool empty = std::all_of(in->tables.begin(), in->tables.end(),
                                 [](const std::unique_ptr<Table>& other) { return other == nullptr; });
  if (!empty) return absl::OkStatus();
  due_.erase({in->state.expires_at, in->window});
  windows_.Drop(model::Window(window));
  return absl::OkStatus();
}

}  // namespace hornbeam::engine
