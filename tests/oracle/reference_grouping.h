// Beam's GroupByKey for one element, one step of the watermark or one step of the clock at a time:
// ReduceFnRunner, MergingActiveWindowSet, PaneInfoTracker and WatermarkHold of Beam's
// runners/core-java, without their bundles. It keeps every element of every pane, and looks at
// every window whenever time moves.
//
// What Beam leaves to its runners is settled so:
//  - The output watermark that decides whether a pane is late, and whether an element still has a
//    part in its pane's timestamp, is that of the key and window alone: the input watermark, held
//    by this pane and by the end of a window that has not been seen to pass. So panes do not depend
//    on which keys meet on a worker.
//  - A watermark that jumps over the end of a window and its expiry comes to the end first.
#ifndef HORNBEAM_TESTS_ORACLE_REFERENCE_GROUPING_H_
#define HORNBEAM_TESTS_ORACLE_REFERENCE_GROUPING_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/pane.h"
#include "model/time.h"
#include "model/window.h"
#include "model/windowing_strategy.h"
#include "reference_trigger.h"

namespace hornbeam::oracle {

// An element on its way; it may lie in several windows.
struct Element {
  std::string key;
  int64_t value = 0;
  model::EventTime timestamp;
  std::vector<model::Window> windows;
  model::PaneInfo pane;
};

// A pane that a grouping puts out.
struct Firing {
  std::string key;
  std::vector<int64_t> values;
  model::EventTime timestamp;
  model::Window window;
  model::PaneInfo pane;
};

// When the state of a window may go (LateDataUtils.garbageCollectionTime).
model::EventTime ExpiryOf(const model::Window& window, model::Duration allowed_lateness);

class ReferenceGrouping {
 public:
  using Emit = std::function<void(Firing)>;

  ReferenceGrouping(model::WindowingStrategy strategy, Emit emit)
      : strategy_(std::move(strategy)), emit_(std::move(emit)) {}

  void AddElement(const Element& element, model::ProcessingTime now);
  // Returns the output watermark. Holds that elements or the clock have released meanwhile count
  // from now on.
  model::EventTime AdvanceWatermark(model::EventTime watermark, model::ProcessingTime now);
  void AdvanceClock(model::ProcessingTime before, model::ProcessingTime now);

 private:
  struct Cell {
    Cell(const model::Trigger& trigger_spec, bool merging) : trigger(trigger_spec, merging) {}
    ReferenceTrigger trigger;
    std::vector<int64_t> values;           // what the next pane holds
    bool is_empty = true;                  // nothing has come since the last pane
    std::optional<model::EventTime> hold;  // the timestamp of the next pane, if an element gave one
    bool end_is_ahead = false;             // a timer waits for the end of the window
    std::optional<model::PaneInfo> previous;
  };
  using Id = std::pair<model::Window, std::string>;

  bool IsExpired(const model::Window& window) const {
    return ExpiryOf(window, strategy_.allowed_lateness) < watermark_;
  }
  Moment MomentOf(const model::Window& window) const {
    return {window.MaxTimestamp() < watermark_, now_};
  }
  model::EventTime OutputWatermark(const Cell& cell, const model::Window& window) const;
  // The window that an element of `window` gets: itself, or what it merges into with the key's
  // others.
  model::Window Join(const std::string& key, const model::Window& window);
  void MergeCells(const std::string& key, const model::CustomWindowFn::MergeResult& merge);
  void MergeHolds(const std::vector<Cell>& from, const model::Window& window, Cell* into) const;
  void AddToWindow(const Element& element, const model::Window& window);
  void AddHold(Cell& cell, const model::Window& window, model::EventTime timestamp) const;
  void FireIfReady(Cell& cell, const Id& id);
  void PutOut(Cell& cell, const Id& id, bool is_finished);
  bool IsWanted(const Cell& cell, bool is_finished, model::PaneTiming timing) const;
  model::PaneInfo NextPane(const Cell& cell, const model::Window& window, bool is_last) const;

  const model::WindowingStrategy strategy_;
  const Emit emit_;
  std::map<Id, Cell> cells_;
  model::EventTime watermark_ = model::EventTime::Min();
  model::EventTime output_watermark_ = model::EventTime::Min();
  model::ProcessingTime now_{};
};

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_REFERENCE_GROUPING_H_
