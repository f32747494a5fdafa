// Elements of a main input that wait for a window of a side input, in the order in which they came.
//
// They are durable, under the worker as unit (docs/formats/job_log.md, Side inputs), and each window's hold the watermark at the
// least of its timestamps. Single-threaded.
#ifndef HORNBEAM_ENGINE_OPERATORS_HELD_ELEMENTS_H_
#define HORNBEAM_ENGINE_OPERATORS_HELD_ELEMENTS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "engine/batch.h"
#include "engine/progress/holds.h"
#include "model/coder.h"
#include "model/element_bytes.h"

namespace hornbeam::engine {

template <typename In>
class HeldElements {
 public:
  // The least timestamp that is held; Max() without any.
  model::EventTime HeldTime() const { return holds_.Min(); }

  // Takes element i out of `batch`. Whether it is the first of its window.
  bool Hold(TypedBatch<In>& batch, size_t i) {
    Log(batch, i, &changes_);
    return Add(std::move(batch.values[i]), batch.timestamps[i], batch.windows[i], batch.panes[i]);
  }

  std::vector<model::Window> Windows() const {
    std::vector<model::Window> windows;
    for (const auto& [window, held] : windows_) windows.push_back(window);
    return windows;
  }
  // All of a window, which goes on holding the watermark until the batch has been dealt with: then call Released.
  std::unique_ptr<TypedBatch<In>> Take(const model::Window& window) { return std::move(windows_.at(window).batch); }
  void Released(const model::Window& window) {
    windows_.erase(window);
    changes_.push_back(static_cast<char>(Op::kRelease));
    model::PutWindow(&changes_, window);
  }

  // For the log: what has changed since the last call; all of it; and back.
  std::string TakeChanges() { return std::exchange(changes_, {}); }
  void LogAll(std::string* out) const {
    for (const auto& [window, held] : windows_) {
      for (size_t i = 0; i < held.batch->size(); ++i) Log(*held.batch, i, out);
    }
  }
  enum class Op : uint8_t { kHold = 1, kRelease = 2 };
  // One operation, what follows `op` of it. False where it is malformed.
  bool RestoreOp(Op op, ByteReader& in) {
    const model::Window window = model::ReadWindow(in);
    if (op == Op::kRelease) {
      windows_.erase(window);
      return in.ok();
    }
    In value;
    model::EventTime timestamp;
    if (op != Op::kHold || !model::Coder<In>::Decode(in, &value) || !model::Coder<model::EventTime>::Decode(in, &timestamp)) {
      return false;
    }
    Add(std::move(value), timestamp, window, model::ReadPane(in));
    return in.ok();
  }

 private:
  struct Held {
    std::unique_ptr<TypedBatch<In>> batch;
    engine::Hold hold;
  };

  bool Add(In value, model::EventTime timestamp, const model::Window& window, const model::PaneInfo& pane) {
    Held& held = windows_[window];
    const bool is_first = held.batch == nullptr;
    if (is_first) {
      held.batch = std::make_unique<TypedBatch<In>>();
      held.hold = holds_.HoldAt(timestamp);
    } else if (timestamp < held.hold.time()) {
      held.hold.MoveTo(timestamp);
    }
    held.batch->Append(std::move(value), timestamp, window, pane);
    return is_first;
  }

  static void Log(const TypedBatch<In>& batch, size_t i, std::string* out) {
    out->push_back(static_cast<char>(Op::kHold));
    model::PutWindow(out, batch.windows[i]);
    model::Coder<In>::Encode(batch.values[i], out);
    model::Coder<model::EventTime>::Encode(batch.timestamps[i], out);
    model::PutPane(out, batch.panes[i]);
  }

  HoldSet holds_;  // before the windows that hold
  std::map<model::Window, Held> windows_;
  std::string changes_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_HELD_ELEMENTS_H_
