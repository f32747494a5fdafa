// Where a DoFn puts what it makes, and how that is taken back when it throws.
#ifndef HORNBEAM_ENGINE_OPERATORS_OUTPUT_RECEIVER_H_
#define HORNBEAM_ENGINE_OPERATORS_OUTPUT_RECEIVER_H_

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/batch.h"
#include "engine/operator.h"

namespace hornbeam::engine {

// Outputs of one kind. They get the timestamp, window and pane of the element at hand; in a timer's
// callback the timer's output timestamp and window.
template <typename T>
class OutputReceiver {
 public:
  using ElementT = T;

  void Output(T value) { OutputWithTimestamp(std::move(value), in_->timestamps[index_]); }

  // A timestamp outside of event time is taken for the nearest in it.
  void OutputWithTimestamp(T value, model::EventTime timestamp) {
    timestamp = model::EventTime::FromMicros(timestamp.us);
    if (out_ == nullptr) Begin();
    if (uniform_) {
      out_->values.push_back(std::move(value));
      out_->timestamps.push_back(timestamp);
    } else {
      out_->Append(std::move(value), timestamp, in_->windows[index_], in_->panes[index_]);
    }
  }

 private:
  template <typename...>
  friend class Receivers;
  template <typename>
  friend class BundleOutput;

  void Begin() {
    out_ = std::make_unique<TypedBatch<T>>();
    out_->Reserve(in_->size());
    out_->owner = in_->owner;
    uniform_ = in_->windows.is_uniform() && in_->panes.is_uniform();
    if (uniform_) {
      out_->windows.SetUniform(in_->windows.uniform());
      out_->panes.SetUniform(in_->panes.uniform());
    }
  }
  void TakeUp(const Batch* batch) {
    in_ = batch;
    uniform_ = false;
    if (out_ != nullptr && out_->empty()) out_ = nullptr;  // of a call that failed: it has that one's windows
  }
  void Mark() { mark_ = out_ == nullptr ? 0 : out_->size(); }
  void Rollback() {
    if (out_ != nullptr) out_->Truncate(mark_);
  }

  const Batch* in_ = nullptr;
  size_t index_ = 0;
  size_t mark_ = 0;
  bool uniform_ = false;  // out_ was begun for in_, which has one window and pane
  std::unique_ptr<TypedBatch<T>> out_;
};

// Where FinishBundle puts outputs of one kind: no element is at hand, so it says where they lie.
template <typename T>
class BundleOutput {
 public:
  using ElementT = T;

  void Output(T value, model::EventTime timestamp, const model::Window& window) {
    if (receiver_->out_ == nullptr) receiver_->out_ = std::make_unique<TypedBatch<T>>();
    receiver_->out_->Append(std::move(value), model::EventTime::FromMicros(timestamp.us), window,
                            model::PaneInfo::NoFiring());
  }

 private:
  template <typename...>
  friend class Receivers;
  explicit BundleOutput(OutputReceiver<T>* receiver) : receiver_(receiver) {}

  OutputReceiver<T>* receiver_;
};

// All outputs of one DoFn. One call of it is an overlay on them: Mark, the call, and Rollback when it
// throws. Outputs gather until EmitAll.
template <typename... Outs>
class Receivers {
 public:
  // Calls come for elements of `batch` from now on; it lives until the next TakeUp or EmitAll.
  void TakeUp(const Batch* batch) {
    Each([&](auto& receiver) { receiver.TakeUp(batch); });
  }
  void MoveTo(size_t index) {
    Each([&](auto& receiver) { receiver.index_ = index; });
  }
  void Mark() {
    Each([](auto& receiver) { receiver.Mark(); });
  }
  void Rollback() {
    Each([](auto& receiver) { receiver.Rollback(); });
  }

  // call(OutputReceiver<Outs>&...).
  template <typename Call>
  decltype(auto) Apply(Call call) {
    return std::apply(call, receivers_);
  }
  // call(BundleOutput<Outs>&...), between elements: what has been put out is emitted before.
  template <typename Call>
  void ApplyToBundle(Call call) {
    std::apply(
        [&](auto&... receiver) {
          std::tuple<BundleOutput<Outs>...> outputs{BundleOutput<Outs>(&receiver)...};
          std::apply(call, outputs);
        },
        receivers_);
  }

  // Elements in the fullest of them.
  size_t size() const {
    size_t most = 0;
    std::apply(
        [&](const auto&... receiver) {
          ((most = std::max(most, receiver.out_ == nullptr ? 0 : receiver.out_->size())), ...);
        },
        receivers_);
    return most;
  }
  // f(timestamp) of all that has been put out since the last EmitAll.
  template <typename F>
  void EachTimestamp(F f) const {
    std::apply(
        [&](const auto&... receiver) {
          const auto all = [&](const auto& one) {
            if (one.out_ == nullptr) return;
            for (const model::EventTime t : one.out_->timestamps) f(t);
          };
          (all(receiver), ...);
        },
        receivers_);
  }
  // To the operator's outputs of the same numbers.
  Status EmitAll(Operator* op) {
    return std::apply(
        [&](auto&... receiver) {
          size_t i = 0;
          Status status;
          (status.Update(EmitOne(op->output(i++), receiver)), ...);
          return status;
        },
        receivers_);
  }

 private:
  template <typename F>
  void Each(F f) {
    std::apply([&](auto&... receiver) { (f(receiver), ...); }, receivers_);
  }
  template <typename T>
  static Status EmitOne(Output& output, OutputReceiver<T>& receiver) {
    if (receiver.out_ == nullptr) return absl::OkStatus();
    return output.Emit(std::move(receiver.out_));
  }

  std::tuple<OutputReceiver<Outs>...> receivers_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_OUTPUT_RECEIVER_H_
