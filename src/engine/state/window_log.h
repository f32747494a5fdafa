// How keyed operators write their state into an epoch: a sequence of operations on one slice, each on the window named last.
//
// docs/formats/job_log.md has the layout. A reader replays them in order.
#ifndef HORNBEAM_ENGINE_STATE_WINDOW_LOG_H_
#define HORNBEAM_ENGINE_STATE_WINDOW_LOG_H_

#include <string>

#include "base/bytes.h"
#include "model/element_bytes.h"
#include "model/window.h"

namespace hornbeam::engine {

enum class WindowOp : uint8_t {
  kWindow = 1,  // start, end: the operations that follow are on this window
  kPut = 2,     // key, cell: the whole cell
  kAppend = 3,  // key, what was added to the cell
  kDrop = 4,    // the window with all its cells is gone
  // Of operators with declared state (operators/stateful_operator.h).
  kErase = 16,    // key: its cell is gone
  kMembers = 17,  // count, names: what numbers in the cells of this record stand for
  kTime = 18,     // event time: how far the operator had come when something was parked
  kParked = 19,   // bytes: what has changed among parked elements
};

class WindowLogWriter {
 public:
  explicit WindowLogWriter(std::string* out) : out_(out) {}

  bool empty() const { return !has_window_; }

  // Writes the operation's code, with its window when that is not the last one's. The operands follow.
  std::string* Begin(WindowOp op, const model::Window& window) {
    if (!has_window_ || window_ != window) {
      has_window_ = true;
      window_ = window;
      out_->push_back(static_cast<char>(WindowOp::kWindow));
      model::PutWindow(out_, window);
    }
    out_->push_back(static_cast<char>(op));
    return out_;
  }

 private:
  std::string* const out_;
  bool has_window_ = false;
  model::Window window_;
};

class WindowLogReader {
 public:
  explicit WindowLogReader(std::string_view payload) : in(payload) {}

  // False at the end and at what is malformed; in.ok() tells which. The caller reads the operands from `in`, and knows which
  // operations it has.
  bool Next(WindowOp* op) {
    while (in.ok() && !in.done()) {
      *op = static_cast<WindowOp>(in.Byte());
      if (*op != WindowOp::kWindow) return *op >= WindowOp::kPut;
      window = model::ReadWindow(in);
    }
    return false;
  }

  ByteReader in;
  model::Window window;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_WINDOW_LOG_H_
