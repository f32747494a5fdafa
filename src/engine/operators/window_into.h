// WindowInto: gives every element its window, in place.
#ifndef HORNBEAM_ENGINE_OPERATORS_WINDOW_INTO_H_
#define HORNBEAM_ENGINE_OPERATORS_WINDOW_INTO_H_

#include <memory>
#include <utility>

#include "engine/operator.h"
#include "model/window.h"

namespace hornbeam::engine {

class WindowIntoOperator final : public Operator {
 public:
  explicit WindowIntoOperator(const model::WindowFn& fn) : fn_(fn) {}

  Status Process(int input, std::unique_ptr<Batch> batch) override {
    UniformColumn<model::Window> windows;
    model::Window window{model::EventTime::Max(), model::EventTime::Min()};  // no timestamp lies in it
    for (size_t i = 0; i < batch->size(); ++i) {
      const model::EventTime t = batch->timestamps[i];
      // Most elements lie where the one before lies; a division is saved.
      if (t < window.start || t >= window.end) window = fn_.AssignOne(t);
      windows.Append(window, i);
    }
    batch->windows = std::move(windows);
    return output(0).Emit(std::move(batch));
  }

 private:
  const model::WindowFn fn_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_WINDOW_INTO_H_
