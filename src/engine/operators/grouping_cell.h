// What a grouping keeps of one key in one window, and how it is written (docs/formats/job_log.md).
#ifndef HORNBEAM_ENGINE_OPERATORS_GROUPING_CELL_H_
#define HORNBEAM_ENGINE_OPERATORS_GROUPING_CELL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "engine/progress/holds.h"
#include "engine/windowing/pane_tracker.h"
#include "engine/windowing/trigger_machine.h"
#include "model/coder.h"
#include "model/heap_bytes.h"
#include "model/time.h"

namespace hornbeam::engine {

// What a cell has where its panes do not follow from the end of the window alone.
struct GroupingExtras {
  TriggerState trigger;
  PaneState pane;
  Hold hold;  // at the pane's timestamp, where the timestamp combiner is not the end of the window
};

template <typename Traits>
struct GroupingCell {
  typename Traits::Accumulator accumulator{};
  uint32_t unfired = 0;   // elements since the last pane
  uint32_t logged = 0;    // kAppends: how many of the values the log has
  bool dirty = false;     // in the table's list
  bool rewrite = false;   // the log needs the whole cell: it has values that are gone
  bool holds = false;     // has unfired elements that came before the end of the window
  bool is_copied = false; // the cold store has it as it is
  std::unique_ptr<GroupingExtras> extras;
};

// Immutable.
template <typename Traits>
class GroupingCellCoder {
  using Key = typename Traits::Key;
  using Input = typename Traits::Input;
  using Accumulator = typename Traits::Accumulator;
  using Cell = GroupingCell<Traits>;

 public:
  // What of a cell concerns more than the cell: the reader of it makes this so.
  struct Holding {
    bool holds = false;
    std::optional<model::EventTime> stamp;  // that of the next pane so far
  };

  GroupingCellCoder(const Traits* traits, const TriggerMachine* machine) : traits_(*traits), machine_(*machine) {}

  // Key, accumulator, progress.
  void PutWhole(const Key& key, const Cell& cell, std::string* out) const {
    model::Coder<Key>::Encode(key, out);
    model::Coder<Accumulator>::Encode(cell.accumulator, out);
    PutProgress(cell, out);
  }
  // Key, the values that the log has not, progress.
  void PutAppended(const Key& key, const Cell& cell, std::string* out) const
    requires(Traits::kAppends)
  {
    model::Coder<Key>::Encode(key, out);
    const std::vector<Input>& values = cell.accumulator;
    PutVarint(out, values.size() - cell.logged);
    for (size_t i = cell.logged; i < values.size(); ++i) model::Coder<Input>::Encode(values[i], out);
    PutProgress(cell, out);
  }

  // What follows the key. False where it is malformed. Holds that the cell has are released.
  bool ReadWhole(ByteReader& in, Cell* cell, Holding* holding) const {
    return model::Coder<Accumulator>::Decode(in, &cell->accumulator) && ReadProgress(in, cell, holding);
  }
  bool ReadAppended(ByteReader& in, Cell* cell, Holding* holding) const
    requires(Traits::kAppends)
  {
    for (uint64_t left = in.Varint(); left > 0; --left) {
      Input value;
      if (!model::Coder<Input>::Decode(in, &value)) return false;
      traits_.Add(&cell->accumulator, std::move(value));
    }
    return in.ok() && ReadProgress(in, cell, holding);
  }

  // What a key and its cell have allocated, about.
  static size_t HeapBytes(const Key& key, const Cell& cell) {
    constexpr size_t kExtras = sizeof(GroupingExtras) + model::kAllocationOverhead;
    return model::HeapBytes(key) + model::HeapBytes(cell.accumulator) + (cell.extras != nullptr ? kExtras : 0);
  }

 private:
  void PutProgress(const Cell& cell, std::string* out) const {
    PutVarint(out, cell.unfired);
    const bool is_stamped = cell.extras != nullptr && cell.extras->hold.is_held();
    out->push_back(static_cast<char>((cell.holds ? 1 : 0) | (cell.extras != nullptr ? 2 : 0) | (is_stamped ? 4 : 0)));
    if (cell.extras == nullptr) return;
    machine_.Encode(cell.extras->trigger, out);
    EncodePaneState(cell.extras->pane, out);
    if (is_stamped) model::Coder<model::EventTime>::Encode(cell.extras->hold.time(), out);
  }

  bool ReadProgress(ByteReader& in, Cell* cell, Holding* holding) const {
    if constexpr (Traits::kAppends) cell->logged = static_cast<uint32_t>(cell->accumulator.size());
    cell->unfired = static_cast<uint32_t>(in.Varint());
    const uint8_t flags = in.Byte();
    holding->holds = (flags & 1) != 0;
    holding->stamp.reset();
    if ((flags & 2) == 0) return in.ok();
    if (cell->extras == nullptr) cell->extras = std::make_unique<GroupingExtras>();
    cell->extras->hold.Release();
    if (!machine_.Decode(&in, &cell->extras->trigger) || !DecodePaneState(&in, &cell->extras->pane)) return false;
    if ((flags & 4) == 0) return in.ok();
    return model::Coder<model::EventTime>::Decode(in, &holding->stamp.emplace());
  }

  const Traits& traits_;
  const TriggerMachine& machine_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_GROUPING_CELL_H_
