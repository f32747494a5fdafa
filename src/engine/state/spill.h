// Lets an operator's tables leave memory when the job's state exceeds its budget.
//
// Tables leave whole, at the end of an epoch, when the log has all of their cells: those first that have not changed for longest.
// A cell comes back alone, when something asks for it. In memory it is then newer than its copy in the store; a copy that is
// still the same need not be written again.
//
// Sizes are estimates: of tables what they have allocated, of what keys and accumulators allocate themselves a sample
// (model/heap_bytes.h). What one epoch adds comes on top of the budget.
#ifndef HORNBEAM_ENGINE_STATE_SPILL_H_
#define HORNBEAM_ENGINE_STATE_SPILL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "engine/epoch/ids.h"
#include "engine/operator.h"
#include "engine/state/cold_cells.h"
#include "engine/state/state_budget.h"
#include "engine/state/window_slices.h"

namespace hornbeam::engine {

// What one table has in memory, and out of it.
struct Residence {
  size_t bytes = 0;         // in memory, when it was last measured
  EpochId touched = 0;      // the last epoch in which it changed
  size_t cold_cells = 0;    // cells that are in the store alone
  bool has_copies = false;  // the store has, or had, copies of its cells
};

// What some entries of a table have allocated themselves, times all there are. `heap_bytes(entry)`.
template <typename Entries, typename HeapBytes>
size_t SampleHeapBytes(const Entries& entries, HeapBytes heap_bytes) {
  constexpr size_t kSample = 8;
  const size_t sampled = std::min(entries.size(), kSample);
  if (sampled == 0) return 0;
  size_t bytes = 0;
  for (size_t i = 0; i < sampled; ++i) bytes += heap_bytes(entries[i * (entries.size() / sampled)]);
  return bytes * entries.size() / sampled;
}

// Of one operator on one worker; single-threaded. A Table has a `Residence residence`.
class Spill {
 public:
  explicit Spill(const OperatorContext& context)
      : budget_(&context.job->state_budget()), cells_(context.job, context.worker, context.id) {}
  Spill(const Spill&) = delete;
  ~Spill() {
    budget_->Add(-static_cast<int64_t>(bytes_));
    budget_->AddCold(-static_cast<int64_t>(cold_cells_));
  }

  ColdCells& cells() { return cells_; }
  bool is_limited() const { return budget_->limit_bytes() > 0; }

  // A table takes so much memory now.
  void Resize(Residence* table, size_t bytes) {
    budget_->Add(static_cast<int64_t>(bytes) - static_cast<int64_t>(table->bytes));
    bytes_ = bytes_ + bytes - table->bytes;
    table->bytes = bytes;
  }
  // A table has left memory, but for cells that cannot.
  void NoteEvicted(Residence* table, size_t cells, size_t bytes_left) {
    AddCold(table, static_cast<int64_t>(cells));
    table->has_copies |= cells > 0;
    Resize(table, bytes_left);
  }
  // A cell has come back.
  void NoteThawed(Residence* table) { AddCold(table, -1); }
  // A table is about to go for good.
  Status Drop(const model::Window& window, uint32_t slice, Residence* table) {
    Resize(table, 0);
    AddCold(table, -static_cast<int64_t>(table->cold_cells));
    if (!table->has_copies) return absl::OkStatus();
    *table = {};
    return cells_.RemoveAll(window, slice);
  }

  // When the log has all state. measure(table) calls Resize with what it takes; evict(window entry, table) NoteEvicted.
  template <typename Table, typename PerWindow, typename Measure, typename Evict>
  Status EndEpoch(WindowSlices<Table, PerWindow>& windows, Measure measure, Evict evict) {
    if (restored_bytes_ > 0) MeasureAll(windows, measure);
    return MakeRoom(windows, evict);
  }
  // State has been restored from a record of this size. It is measured whenever a part of the budget has been read: in memory it
  // takes several times that.
  template <typename Table, typename PerWindow, typename Measure, typename Evict>
  Status AfterRestore(size_t record_bytes, WindowSlices<Table, PerWindow>& windows, Measure measure, Evict evict) {
    constexpr size_t kParts = 64;
    restored_bytes_ += record_bytes;
    if (!is_limited() || restored_bytes_ < budget_->limit_bytes() / kParts) return absl::OkStatus();
    MeasureAll(windows, measure);
    return MakeRoom(windows, evict);
  }

 private:
  void AddCold(Residence* table, int64_t cells) {
    budget_->AddCold(cells);
    cold_cells_ += static_cast<size_t>(cells);
    table->cold_cells += static_cast<size_t>(cells);
  }

  template <typename Table, typename PerWindow, typename Measure>
  void MeasureAll(WindowSlices<Table, PerWindow>& windows, Measure measure) {
    restored_bytes_ = 0;
    windows.ForEach([&](auto& in) {
      for (auto& table : in.tables) {
        if (table != nullptr) measure(*table);
      }
    });
  }

  template <typename Table, typename PerWindow, typename Evict>
  Status MakeRoom(WindowSlices<Table, PerWindow>& windows, Evict evict) {
    const size_t excess = budget_->ExcessOf(bytes_);
    if (excess == 0) return absl::OkStatus();
    struct Candidate {
      typename WindowSlices<Table, PerWindow>::WindowEntry* in;
      Table* table;
      EpochId touched;
      size_t bytes;
    };
    std::vector<Candidate> candidates;
    windows.ForEach([&](auto& in) {
      for (auto& table : in.tables) {
        if (table == nullptr || table->residence.bytes == 0) continue;
        candidates.push_back({&in, table.get(), table->residence.touched, table->residence.bytes});
      }
    });
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.touched, b.bytes) < std::tuple(b.touched, a.bytes);
    });
    const size_t target = bytes_ - excess;
    for (const Candidate& candidate : candidates) {
      if (bytes_ <= target) break;
      HB_RETURN_IF_ERROR(evict(*candidate.in, *candidate.table));
    }
    return cells_.Flush();
  }

  StateBudget* const budget_;
  ColdCells cells_;
  size_t bytes_ = 0;
  size_t cold_cells_ = 0;
  size_t restored_bytes_ = 0;  // since all was measured
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_SPILL_H_
