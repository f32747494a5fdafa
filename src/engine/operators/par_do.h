// ParDo: runs user code on every element.
//
// What one call does is an overlay: its outputs are kept apart until it returns, and vanish when it throws. Then the element is
// tried again, JobOptions::attempts times in all, and after that the policy says what becomes of it.
#ifndef HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_
#define HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/operator.h"
#include "engine/operators/failed_element.h"
#include "engine/progress/holds.h"
#include "model/coder.h"
#include "model/slice.h"

namespace hornbeam::engine {

// What a DoFn sees of the element at hand.
class ElementContext {
 public:
  model::EventTime timestamp() const { return batch_->timestamps[index_]; }
  const model::Window& window() const { return batch_->windows[index_]; }
  const model::PaneInfo& pane() const { return batch_->panes[index_]; }
  model::ProcessingTime processing_time() const { return job_->Now(); }
  // The operator's transform, for messages.
  const std::string& transform() const { return *transform_; }

 private:
  template <typename, typename, typename...>
  friend class ParDoOperator;
  const Batch* batch_ = nullptr;
  size_t index_ = 0;
  JobContext* job_ = nullptr;
  const std::string* transform_ = nullptr;
};

// Where a DoFn puts its outputs of one kind. They get the timestamp, window and pane of the element at hand.
template <typename T>
class OutputReceiver {
 public:
  using ElementT = T;

  void Output(T value) { OutputWithTimestamp(std::move(value), in_->timestamps[index_]); }

  void OutputWithTimestamp(T value, model::EventTime timestamp) {
    if (out_ == nullptr) Begin();
    if (uniform_) {
      out_->values.push_back(std::move(value));
      out_->timestamps.push_back(timestamp);
    } else {
      out_->Append(std::move(value), timestamp, in_->windows[index_], in_->panes[index_]);
    }
  }

 private:
  template <typename, typename, typename...>
  friend class ParDoOperator;

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
  size_t size() const { return out_ == nullptr ? 0 : out_->size(); }
  void Rollback(size_t size) {
    if (out_ != nullptr) out_->Truncate(size);
  }

  const Batch* in_ = nullptr;
  size_t index_ = 0;
  bool uniform_ = false;
  std::unique_ptr<TypedBatch<T>> out_;
};

// Fn: void(In, const ElementContext&, OutputReceiver<Outs>&...). When it takes `In&&` or `In&` the element may be gone after the
// first attempt, and there is no second one.
//
// Outputs: one for each of Outs, then FailedElement.
template <typename In, typename Fn, typename... Outs>
class ParDoOperator final : public Operator {
  static constexpr bool kKeepsElement = std::is_invocable_v<Fn&, const In&, const ElementContext&, OutputReceiver<Outs>&...>;
  static constexpr bool kCanPark = kKeepsElement && model::Codable<In> && std::is_copy_constructible_v<In>;
  static constexpr size_t kFailedOutput = sizeof...(Outs);

 public:
  ParDoOperator(Fn fn, FailurePolicy policy) : fn_(std::move(fn)), policy_(policy) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    if (policy_ == FailurePolicy::kRetry && !kCanPark) {
      return absl::InvalidArgumentError(
          "elements of this type cannot be parked and retried: that needs a coder, and a DoFn that takes them by const&");
    }
    element_.job_ = this->context().job;
    element_.transform_ = &this->context().name;
    return absl::OkStatus();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<In>(std::move(erased));
    TakeUp(*batch);
    for (size_t i = 0; i < batch->size(); ++i) {
      if (std::optional<std::string> error = Try(*batch, i)) HB_RETURN_IF_ERROR(OnFailure(*batch, i, std::move(*error)));
    }
    return EmitAll();
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override { return std::min(input, holds_.Min()); }

  model::ProcessingTime NextProcessingTime() const override {
    return retries_.empty() ? model::ProcessingTime::Never() : retries_.begin()->first;
  }

  Status OnProcessingTime(model::ProcessingTime now) override {
    while (!retries_.empty() && retries_.begin()->first <= now) {
      const uint64_t id = retries_.begin()->second;
      retries_.erase(retries_.begin());
      HB_RETURN_IF_ERROR(RetryParked(id));
    }
    return absl::OkStatus();
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    // What workers that there are no longer had parked is written here from now on.
    for (const uint32_t unit : adopted_units_) records->Add(context().id, unit, true, {});
    adopted_units_.clear();
    if (!parked_changed_) return absl::OkStatus();
    parked_changed_ = false;
    return Rewrite(static_cast<uint32_t>(context().worker), records);
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    if (static_cast<int>(unit) != context().worker) return absl::OkStatus();  // ended by OnMarker
    if constexpr (kCanPark) {
      std::string* const out = records->Begin(context().id, unit, true);
      for (const auto& [id, parked] : parked_) {
        model::Coder<In>::Encode(parked.batch->values[0], out);
        model::Coder<model::EventTime>::Encode(parked.batch->timestamps[0], out);
        const model::Window& window = parked.batch->windows[0];
        PutSigned(out, window.start.us);
        PutSigned(out, window.end.us);
        const model::PaneInfo& pane = parked.batch->panes[0];
        out->push_back(static_cast<char>(static_cast<int>(pane.timing) | (pane.is_first ? 4 : 0) | (pane.is_last ? 8 : 0)));
        PutSigned(out, pane.index);
        PutSigned(out, pane.on_time_index);
        PutVarint(out, static_cast<uint64_t>(parked.attempts));
        PutBytes(out, parked.error);
      }
      records->End();
    }
    return absl::OkStatus();
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if constexpr (kCanPark) {
      ByteReader in(payload);
      while (in.ok() && !in.done()) HB_RETURN_IF_ERROR(RestoreParked(in));
      if (static_cast<int>(unit) != context().worker) {
        adopted_units_.push_back(unit);
        parked_changed_ = true;
      }
      return in.ok() ? absl::OkStatus() : absl::DataLossError("the log holds malformed parked elements");
    }
    return Operator::Restore(unit, replaces, payload);
  }

 private:
  struct Parked {
    std::unique_ptr<TypedBatch<In>> batch;  // of one element
    int64_t attempts = 0;
    std::string error;
    Hold hold;
  };

  template <typename F>
  void EachReceiver(F f) {
    std::apply([&](auto&... receiver) { (f(receiver), ...); }, receivers_);
  }

  void TakeUp(const Batch& batch) {
    element_.batch_ = &batch;
    EachReceiver([&](auto& receiver) {
      receiver.in_ = &batch;
      receiver.out_ = nullptr;  // a retry that failed has left one, which has its windows
    });
  }

  // Calls the DoFn up to the number of attempts; the error of the last one.
  std::optional<std::string> Try(TypedBatch<In>& batch, size_t i) {
    element_.index_ = i;
    std::array<size_t, sizeof...(Outs)> marks;
    size_t n = 0;
    EachReceiver([&](auto& receiver) {
      receiver.index_ = i;
      marks[n++] = receiver.size();
    });
    for (int attempt = 1;; ++attempt) {
      std::string error;
      try {
        Call(batch.values[i]);
        return std::nullopt;
      } catch (const std::exception& e) {
        error = e.what();
      } catch (...) {
        error = "an exception that is not a std::exception";
      }
      n = 0;
      EachReceiver([&](auto& receiver) { receiver.Rollback(marks[n++]); });
      if (!kKeepsElement || attempt >= context().job->options().attempts) return error;
    }
  }

  void Call(In& element) {
    std::apply(
        [&](auto&... receiver) {
          if constexpr (kKeepsElement) {
            fn_(std::as_const(element), element_, receiver...);
          } else if constexpr (std::is_invocable_v<Fn&, In&, const ElementContext&, OutputReceiver<Outs>&...>) {
            fn_(element, element_, receiver...);
          } else {
            fn_(std::move(element), element_, receiver...);
          }
        },
        receivers_);
  }

  Status EmitAll() {
    return std::apply(
        [&](auto&... receiver) {
          size_t output_index = 0;
          Status status;
          ((status.Update(EmitOne(output_index++, receiver))), ...);
          return status;
        },
        receivers_);
  }
  template <typename T>
  Status EmitOne(size_t output_index, OutputReceiver<T>& receiver) {
    if (receiver.out_ == nullptr) return absl::OkStatus();
    std::unique_ptr<TypedBatch<T>> batch = std::move(receiver.out_);
    return output(output_index).Emit(std::move(batch));
  }

  static std::string Describe(const In& element) {
    if constexpr (std::is_same_v<In, std::string>) {
      return element;
    } else if constexpr (std::is_same_v<In, model::Slice>) {
      return element.ToString();
    } else if constexpr (model::Codable<In>) {
      std::string bytes;
      model::Coder<In>::Encode(element, &bytes);
      return bytes;
    } else {
      return {};
    }
  }

  Status OnFailure(TypedBatch<In>& batch, size_t i, std::string error) {
    OperatorCounters::Add(counters().failed, 1);
    const int64_t attempts = kKeepsElement ? context().job->options().attempts : 1;
    switch (policy_) {
      case FailurePolicy::kFail:
        return absl::AbortedError(absl::StrCat(
            "'", context().name, "' failed on an element of window ", ToString(batch.windows[i]), ": ", error,
            "; the element: ", absl::CHexEscape(Describe(batch.values[i]).substr(0, 500)),
            "; read the transform's failures() to have such elements as dead letters instead"));
      case FailurePolicy::kDeadLetter: {
        auto failed = std::make_unique<TypedBatch<FailedElement>>();
        failed->Append({context().name, std::move(error), ToString(batch.windows[i]), batch.timestamps[i],
                        Describe(batch.values[i]), attempts},
                       batch.timestamps[i], batch.windows[i], batch.panes[i]);
        return output(kFailedOutput).Emit(std::move(failed));
      }
      case FailurePolicy::kRetry:
        Park(batch, i, attempts, std::move(error));
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  void Park(TypedBatch<In>& batch, size_t i, int64_t attempts, std::string error) {
    if constexpr (kCanPark) {
      auto one = std::make_unique<TypedBatch<In>>();
      one->Append(batch.values[i], batch.timestamps[i], batch.windows[i], batch.panes[i]);
      AddParked(std::move(one), attempts, std::move(error), context().job->Now() + Backoff(attempts));
      parked_changed_ = true;
    }
  }

  void AddParked(std::unique_ptr<TypedBatch<In>> one, int64_t attempts, std::string error,
                 model::ProcessingTime retry_at) {
    const uint64_t id = next_parked_++;
    Hold hold = holds_.HoldAt(one->timestamps[0]);
    parked_.insert({id, Parked{std::move(one), attempts, std::move(error), std::move(hold)}});
    retries_.insert({retry_at, id});
  }

  // A second after the first failure, then twice as long each time, up to five minutes.
  model::Duration Backoff(int64_t attempts) const {
    const int64_t doublings = std::clamp<int64_t>(attempts / std::max(1, context().job->options().attempts) - 1, 0, 9);
    return std::min(model::Seconds(1 << doublings), model::Minutes(5));
  }

  Status RetryParked(uint64_t id) {
    if constexpr (kCanPark) {
      Parked& parked = parked_.at(id);
      TypedBatch<In> one = *parked.batch;
      TakeUp(one);
      if (std::optional<std::string> error = Try(one, 0)) {
        parked.attempts += context().job->options().attempts;
        parked.error = std::move(*error);
        retries_.insert({context().job->Now() + Backoff(parked.attempts), id});
      } else {
        HB_RETURN_IF_ERROR(EmitAll());
        parked_.erase(id);
      }
      parked_changed_ = true;
    }
    return absl::OkStatus();
  }

  Status RestoreParked(ByteReader& in) {
    auto one = std::make_unique<TypedBatch<In>>();
    In element;
    model::EventTime timestamp;
    model::Window window;
    if (!model::Coder<In>::Decode(in, &element) || !model::Coder<model::EventTime>::Decode(in, &timestamp)) {
      return absl::DataLossError("the log holds malformed parked elements");
    }
    window.start.us = in.Signed();
    window.end.us = in.Signed();
    model::PaneInfo pane;
    const uint8_t flags = in.Byte();
    pane.timing = static_cast<model::PaneTiming>(flags & 3);
    pane.is_first = (flags & 4) != 0;
    pane.is_last = (flags & 8) != 0;
    pane.index = in.Signed();
    pane.on_time_index = in.Signed();
    const int64_t attempts = static_cast<int64_t>(in.Varint());
    std::string error(in.Bytes());
    one->Append(std::move(element), timestamp, window, pane);
    AddParked(std::move(one), attempts, std::move(error), context().job->Now());  // at once: what failed may have been mended
    return absl::OkStatus();
  }

  Fn fn_;
  const FailurePolicy policy_;
  ElementContext element_;
  std::tuple<OutputReceiver<Outs>...> receivers_;

  HoldSet holds_;  // before the parked elements, which hold
  std::map<uint64_t, Parked> parked_;
  std::multimap<model::ProcessingTime, uint64_t> retries_;
  uint64_t next_parked_ = 1;
  bool parked_changed_ = false;
  std::vector<uint32_t> adopted_units_;  // restored here, and not this worker's own
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_
