// WindowInto: gives every element its window, or windows.
#ifndef HORNBEAM_ENGINE_OPERATORS_WINDOW_INTO_H_
#define HORNBEAM_ENGINE_OPERATORS_WINDOW_INTO_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "model/window.h"

namespace hornbeam::engine {

// For functions that assign one window, or slices: in place.
class WindowIntoOperator final : public Operator {
 public:
  explicit WindowIntoOperator(model::WindowFn fn) : fn_(std::move(fn)) {}

  Status Process(int input, std::unique_ptr<Batch> batch) override {
    UniformColumn<model::Window> windows;
    if (fn_.assigns_one() && !fn_.is_partition()) {
      for (size_t i = 0; i < batch->size(); ++i) windows.Append(fn_.AssignOne(batch->timestamps[i]), i);
    } else {
      model::Window window{model::EventTime::Max(), model::EventTime::Min()};  // no timestamp lies in it
      for (size_t i = 0; i < batch->size(); ++i) {
        const model::EventTime t = batch->timestamps[i];
        // Most elements lie where the one before lies; a division is saved.
        if (t < window.start || t >= window.end) window = fn_.has_slices() ? fn_.SliceOf(t) : fn_.AssignOne(t);
        windows.Append(window, i);
      }
    }
    batch->windows = std::move(windows);
    return output(0).Emit(std::move(batch));
  }

 private:
  const model::WindowFn fn_;
};

// For functions that assign any number of windows: an element comes out once for each. `Assign` appends the windows of an element.
template <typename T>
class WindowIntoManyOperator final : public Operator {
 public:
  using AssignFn = std::function<void(const T&, model::EventTime, std::vector<model::Window>*)>;
  explicit WindowIntoManyOperator(AssignFn assign) : assign_(std::move(assign)) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<T>(std::move(erased));
    auto out = std::make_unique<TypedBatch<T>>();
    out->Reserve(batch->size());
    out->owner = batch->owner;
    for (size_t i = 0; i < batch->size(); ++i) {
      windows_.clear();
      assign_(batch->values[i], batch->timestamps[i], &windows_);
      for (size_t w = 0; w < windows_.size(); ++w) {
        if (w + 1 == windows_.size()) {
          out->Append(std::move(batch->values[i]), batch->timestamps[i], windows_[w], batch->panes[i]);
        } else {
          out->Append(batch->values[i], batch->timestamps[i], windows_[w], batch->panes[i]);
        }
      }
    }
    return output(0).Emit(std::move(out));
  }

 private:
  const AssignFn assign_;
  std::vector<model::Window> windows_;  // of the element at hand
};

// An element with a slice for a window comes out once for each of the windows that the slice is part of.
template <typename T>
class ExplodeSlicesOperator final : public Operator {
 public:
  explicit ExplodeSlicesOperator(model::WindowFn fn) : fn_(std::move(fn)) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<T>(std::move(erased));
    auto out = std::make_unique<TypedBatch<T>>();
    out->owner = batch->owner;
    for (size_t i = 0; i < batch->size(); ++i) {
      if (i == 0 || batch->windows[i] != batch->windows[i - 1]) {
        windows_.clear();
        fn_.WindowsOfSlice(batch->windows[i], &windows_);
        out->Reserve(out->size() + windows_.size() * (batch->size() - i));
      }
      for (const model::Window& window : windows_) {
        out->Append(batch->values[i], batch->timestamps[i], window, batch->panes[i]);
      }
    }
    return output(0).Emit(std::move(out));
  }

 private:
  const model::WindowFn fn_;
  std::vector<model::Window> windows_;  // of the slice at hand
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_WINDOW_INTO_H_
