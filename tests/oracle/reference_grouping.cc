#include "reference_grouping.h"

#include <algorithm>
#include <set>

#include "reference_windows.h"

namespace hornbeam::oracle {

using model::EventTime;
using model::PaneInfo;
using model::PaneTiming;
using model::Window;

EventTime ExpiryOf(const Window& window, model::Duration allowed_lateness) {
  return std::min(window.MaxTimestamp() + allowed_lateness, EventTime::EndOfGlobalWindow());
}

// Beam's "local output watermark (also for this key)", for this window too.
EventTime ReferenceGrouping::OutputWatermark(const Cell& cell, const Window& window) const {
  EventTime output = watermark_;
  if (cell.hold) output = std::min(output, *cell.hold);
  if (cell.end_is_ahead) output = std::min(output, window.MaxTimestamp());
  return output;
}

void ReferenceGrouping::AddElement(const Element& element, model::ProcessingTime now) {
  now_ = now;
  for (const Window& window : element.windows) {
    if (IsExpired(window)) continue;
    AddToWindow(element, strategy_.merges() ? Join(element.key, window) : window);
  }
}

// A window that is closed takes part as if it were new.
Window ReferenceGrouping::Join(const std::string& key, const Window& window) {
  std::set<Window> windows{window};
  for (const auto& [id, cell] : cells_) {
    if (id.second == key && !cell.trigger.is_finished()) windows.insert(id.first);
  }
  Window own = window;
  for (const auto& merge : MergeWindows(strategy_.window_fn, {windows.begin(), windows.end()})) {
    if (std::count(merge.from.begin(), merge.from.end(), window) > 0) own = merge.into;
    MergeCells(key, merge);
  }
  return own;
}

void ReferenceGrouping::MergeCells(const std::string& key,
                                   const model::CustomWindowFn::MergeResult& merge) {
  std::vector<Cell> from;
  Cell merged(strategy_.trigger, true);
  for (const Window& window : merge.from) {
    const auto at = cells_.find({window, key});
    if (at == cells_.end() || at->second.trigger.is_finished()) continue;
    if (window == merge.into) merged = at->second;  // its panes go on
    from.push_back(std::move(at->second));
    cells_.erase(at);
  }
  if (from.empty()) return;
  std::vector<const ReferenceTrigger*> triggers;
  merged.values.clear();
  for (const Cell& cell : from) {
    triggers.push_back(&cell.trigger);
    merged.values.insert(merged.values.end(), cell.values.begin(), cell.values.end());
    merged.is_empty = merged.is_empty && cell.is_empty;
  }
  merged.trigger.Merge(triggers, MomentOf(merge.into));
  MergeHolds(from, merge.into, &merged);
  cells_.insert_or_assign({merge.into, key}, std::move(merged));
}

void ReferenceGrouping::MergeHolds(const std::vector<Cell>& from, const Window& window,
                                   Cell* into) const {
  into->hold.reset();
  if (strategy_.timestamp_combiner == model::TimestampCombiner::kEndOfWindow) {
    return AddHold(*into, window, window.start);
  }
  const bool latest = strategy_.timestamp_combiner == model::TimestampCombiner::kLatest;
  for (const Cell& cell : from) {
    if (!cell.hold) continue;
    if (!into->hold || (latest ? *cell.hold > *into->hold : *cell.hold < *into->hold)) {
      into->hold = cell.hold;
    }
  }
}

void ReferenceGrouping::AddToWindow(const Element& element, const Window& window) {
  const Id id{window, element.key};
  Cell& cell = cells_.try_emplace(id, strategy_.trigger, strategy_.merges()).first->second;
  if (cell.trigger.is_finished()) return;
  cell.is_empty = false;
  if (window.MaxTimestamp() >= watermark_) cell.end_is_ahead = true;
  AddHold(cell, window, element.timestamp);
  cell.values.push_back(element.value);
  cell.trigger.OnElement(MomentOf(window));
  FireIfReady(cell, id);
}

// An element that is behind the output watermark cannot hold it, and has no part in the timestamp.
void ReferenceGrouping::AddHold(Cell& cell, const Window& window, EventTime timestamp) const {
  const bool end = strategy_.timestamp_combiner == model::TimestampCombiner::kEndOfWindow;
  const EventTime hold = end ? window.MaxTimestamp() : timestamp;
  if (hold < OutputWatermark(cell, window) || window.MaxTimestamp() < watermark_) return;
  if (!cell.hold) {
    cell.hold = hold;
  } else if (strategy_.timestamp_combiner == model::TimestampCombiner::kLatest) {
    cell.hold = std::max(*cell.hold, hold);
  } else {
    cell.hold = std::min(*cell.hold, hold);
  }
}

void ReferenceGrouping::FireIfReady(Cell& cell, const Id& id) {
  const Moment moment = MomentOf(id.first);
  if (!cell.trigger.ShouldFire(moment)) return;
  cell.trigger.OnFire(moment);
  const bool is_finished = cell.trigger.is_finished();
  PutOut(cell, id, is_finished);
  cell.is_empty = true;
  if (is_finished || strategy_.accumulation_mode == model::AccumulationMode::kDiscarding) {
    cell.values.clear();
  }
}

bool ReferenceGrouping::IsWanted(const Cell& cell, bool is_finished, PaneTiming timing) const {
  if (!cell.is_empty) return true;
  if (timing == PaneTiming::kOnTime &&
      strategy_.on_time_behavior == model::OnTimeBehavior::kFireAlways) {
    return true;
  }
  return is_finished && strategy_.closing_behavior == model::ClosingBehavior::kFireAlways;
}

PaneInfo ReferenceGrouping::NextPane(const Cell& cell, const Window& window, bool is_last) const {
  PaneInfo pane;
  pane.is_first = !cell.previous;
  pane.is_last = is_last;
  pane.index = cell.previous ? cell.previous->index + 1 : 0;
  pane.on_time_index = cell.previous ? cell.previous->on_time_index + 1 : 0;
  const bool only_early = !cell.previous || cell.previous->timing == PaneTiming::kEarly;
  if (window.MaxTimestamp() < OutputWatermark(cell, window) || !only_early) {
    pane.timing = PaneTiming::kLate;
  } else if (watermark_ > window.MaxTimestamp()) {
    pane.timing = PaneTiming::kOnTime;
  } else {
    pane.timing = PaneTiming::kEarly;
    pane.on_time_index = -1;
  }
  return pane;
}

void ReferenceGrouping::PutOut(Cell& cell, const Id& id, bool is_finished) {
  const PaneInfo pane = NextPane(cell, id.first, is_finished);
  const EventTime timestamp = cell.hold.value_or(id.first.MaxTimestamp());
  cell.hold.reset();
  if (!IsWanted(cell, is_finished, pane.timing)) return;
  cell.previous = pane;
  emit_({id.second, cell.values, timestamp, id.first, pane});
}

EventTime ReferenceGrouping::AdvanceWatermark(EventTime watermark, model::ProcessingTime now) {
  watermark_ = std::max(watermark_, watermark);
  now_ = now;
  std::set<std::pair<EventTime, Id>> due;
  for (const auto& [id, cell] : cells_) {
    if (cell.end_is_ahead) due.insert({id.first.MaxTimestamp(), id});
    due.insert({ExpiryOf(id.first, strategy_.allowed_lateness), id});
  }
  for (const auto& [at, id] : due) {
    if (at >= watermark_) break;
    Cell& cell = cells_.at(id);
    if (at < ExpiryOf(id.first, strategy_.allowed_lateness)) {
      FireIfReady(cell, id);
      cell.end_is_ahead = false;
    } else {
      if (!cell.trigger.is_finished()) PutOut(cell, id, true);
      cells_.erase(id);
    }
  }
  EventTime output = watermark_;
  for (const auto& [id, cell] : cells_) {
    if (cell.hold) output = std::min(output, *cell.hold);
  }
  output_watermark_ = std::max(output_watermark_, output);
  return output_watermark_;
}

void ReferenceGrouping::AdvanceClock(model::ProcessingTime before, model::ProcessingTime now) {
  now_ = now;
  for (auto& [id, cell] : cells_) {
    if (cell.trigger.IsDue(before, now)) FireIfReady(cell, id);
  }
}

}  // namespace hornbeam::oracle
