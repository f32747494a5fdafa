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
    const auto own = static_cast<uint32_t>(context().worker);
    if (adopted_units_.empty()) {
      if (!changes_.empty()) records->Add(context().id, own, false, changes_);
      changes_.clear();
      return absl::OkStatus();
    }
    // What workers that there are no longer had parked is written here from now on, under numbers of this worker's.
    for (const uint32_t unit : adopted_units_) records->Add(context().id, unit, true, {});
    adopted_units_.clear();
    changes_.clear();
    for (auto& [id, parked] : parked_) {
      if (parked.number == kNoNumber) parked.number = next_number_++;
    }
    return Rewrite(own, records);
  }

  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    if (static_cast<int>(unit) != context().worker) return absl::OkStatus();  // ended by OnMarker
    if constexpr (kCanPark) {
      std::string* const out = records->Begin(context().id, unit, true);
      for (const auto& [id, parked] : parked_) LogParked(parked, out);
      records->End();
    }
    return absl::OkStatus();
  }

  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    if constexpr (kCanPark) {
      if (replaces) ForgetRestored(unit);
      ByteReader in(payload);
      while (in.ok() && !in.done()) HB_RETURN_IF_ERROR(RestoreOp(unit, in));
      if (static_cast<int>(unit) != context().worker && !std::count(adopted_units_.begin(), adopted_units_.end(), unit)) {
        adopted_units_.push_back(unit);
      }
      return in.ok() ? absl::OkStatus() : Malformed();
    }
    return Operator::Restore(unit, replaces, payload);
  }

 private:
  // What the log hears of parked elements, which it knows by a number (docs/formats/job_log.md).
  enum class ParkOp : uint8_t { kPark = 1, kRetried = 2, kUnpark = 3 };
  static constexpr uint64_t kNoNumber = 0;
  static constexpr size_t kParkedOverheadBytes = 256;  // what one costs beside its encoded bytes, about

  struct Parked {
    std::unique_ptr<TypedBatch<In>> batch;  // of one element
    int64_t attempts = 0;
    std::string error;
    Hold hold;
    uint64_t number = kNoNumber;  // in this worker's unit of the log; none while it is in another's
    size_t bytes = 0;             // that the job counts for it
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
    // A dead letter that nobody reads would be an element that vanished.
    const bool unread = policy_ == FailurePolicy::kDeadLetter && !output(kFailedOutput).has_consumers();
    switch (unread ? FailurePolicy::kFail : policy_) {
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
      Parked& parked = AddParked(std::move(one), attempts, std::move(error), context().job->Now() + Backoff(attempts));
      parked.number = next_number_++;
      const size_t before = changes_.size();
      LogParked(parked, &changes_);
      Count(parked, changes_.size() - before);
    }
  }

  Parked& AddParked(std::unique_ptr<TypedBatch<In>> one, int64_t attempts, std::string error,
                    model::ProcessingTime retry_at) {
    const uint64_t id = next_parked_++;
    Hold hold = holds_.HoldAt(one->timestamps[0]);
    retries_.insert({retry_at, id});
    return parked_.insert({id, Parked{std::move(one), attempts, std::move(error), std::move(hold)}}).first->second;
  }

  // Parked elements are held in memory, so sources wait while there are too many, as for sinks.
  void Count(Parked& parked, size_t encoded_bytes) {
    parked.bytes = encoded_bytes + kParkedOverheadBytes;
    context().job->AddUndelivered(parked.bytes);
  }

  auto Unpark(typename std::map<uint64_t, Parked>::iterator at) {
    context().job->TakeUndelivered(at->second.bytes);
    return parked_.erase(at);
  }

  void LogParked(const Parked& parked, std::string* out) const {
    out->push_back(static_cast<char>(ParkOp::kPark));
    PutVarint(out, parked.number);
    model::Coder<In>::Encode(parked.batch->values[0], out);
    model::Coder<model::EventTime>::Encode(parked.batch->timestamps[0], out);
    const model::Window& window = parked.batch->windows[0];
    PutSigned(out, window.start.us);
    PutSigned(out, window.end.us);
    const model::PaneInfo& pane = parked.batch->panes[0];
    out->push_back(static_cast<char>(static_cast<int>(pane.timing) | (pane.is_first ? 4 : 0) | (pane.is_last ? 8 : 0)));
    PutSigned(out, pane.index);
    PutSigned(out, pane.on_time_index);
    LogAttempts(parked, out);
  }
  static void LogAttempts(const Parked& parked, std::string* out) {
    PutVarint(out, static_cast<uint64_t>(parked.attempts));
    PutBytes(out, parked.error);
  }
  // The op and the element's number. One that is still in another worker's unit is written whole at the next marker.
  bool LogOp(ParkOp op, const Parked& parked) {
    if (parked.number == kNoNumber) return false;
    changes_.push_back(static_cast<char>(op));
    PutVarint(&changes_, parked.number);
    return true;
  }

  // A second after the first failure, then twice as long each time, up to five minutes.
  model::Duration Backoff(int64_t attempts) const {
    const int64_t doublings = std::clamp<int64_t>(attempts / std::max(1, context().job->options().attempts) - 1, 0, 9);
    return std::min(model::Seconds(1 << doublings), model::Minutes(5));
  }

  Status RetryParked(uint64_t id) {
    if constexpr (kCanPark) {
      const auto at = parked_.find(id);
      if (at == parked_.end()) return absl::OkStatus();  // the log had it parked, and then no more
      Parked& parked = at->second;
      TypedBatch<In> one = *parked.batch;
      TakeUp(one);
      if (std::optional<std::string> error = Try(one, 0)) {
        parked.attempts += context().job->options().attempts;
        parked.error = std::move(*error);
        retries_.insert({context().job->Now() + Backoff(parked.attempts), id});
        if (LogOp(ParkOp::kRetried, parked)) LogAttempts(parked, &changes_);
      } else {
        HB_RETURN_IF_ERROR(EmitAll());
        LogOp(ParkOp::kUnpark, parked);
        Unpark(at);
      }
    }
    return absl::OkStatus();
  }

  static Status Malformed() { return absl::DataLossError("the log holds malformed parked elements"); }

  Status RestoreOp(uint32_t unit, ByteReader& in) {
    const auto op = static_cast<ParkOp>(in.Byte());
    const uint64_t number = in.Varint();
    if (op == ParkOp::kPark) return RestoreParked(unit, number, in);
    const auto known = restored_.find({unit, number});
    if (known == restored_.end()) return Malformed();
    const auto at = parked_.find(known->second);
    if (op == ParkOp::kRetried) {
      RestoreAttempts(in, &at->second);
      return in.ok() ? absl::OkStatus() : Malformed();
    }
    if (op != ParkOp::kUnpark) return Malformed();
    Unpark(at);
    restored_.erase(known);
    return absl::OkStatus();
  }

  Status RestoreParked(uint32_t unit, uint64_t number, ByteReader& in) {
    const size_t before = in.remaining();
    auto one = std::make_unique<TypedBatch<In>>();
    In element;
    model::EventTime timestamp;
    model::Window window;
    if (!model::Coder<In>::Decode(in, &element) || !model::Coder<model::EventTime>::Decode(in, &timestamp)) return Malformed();
    window.start.us = in.Signed();
    window.end.us = in.Signed();
    model::PaneInfo pane;
    const uint8_t flags = in.Byte();
    pane.timing = static_cast<model::PaneTiming>(flags & 3);
    pane.is_first = (flags & 4) != 0;
    pane.is_last = (flags & 8) != 0;
    pane.index = in.Signed();
    pane.on_time_index = in.Signed();
    one->Append(std::move(element), timestamp, window, pane);
    // Tried at once: what failed may have been mended.
    const uint64_t id = next_parked_;
    Parked& parked = AddParked(std::move(one), 0, {}, context().job->Now());
    RestoreAttempts(in, &parked);
    Count(parked, before - in.remaining());
    if (static_cast<int>(unit) == context().worker) {
      parked.number = number;
      next_number_ = std::max(next_number_, number + 1);
    }
    return restored_.insert({{unit, number}, id}).second && in.ok() ? absl::OkStatus() : Malformed();
  }
  static void RestoreAttempts(ByteReader& in, Parked* parked) {
    parked->attempts = static_cast<int64_t>(in.Varint());
    parked->error.assign(in.Bytes());
  }

  // The unit's state comes anew.
  void ForgetRestored(uint32_t unit) {
    for (auto at = restored_.lower_bound({unit, 0}); at != restored_.end() && at->first.first == unit;) {
      Unpark(parked_.find(at->second));
      at = restored_.erase(at);
    }
  }

  Fn fn_;
  const FailurePolicy policy_;
  ElementContext element_;
  std::tuple<OutputReceiver<Outs>...> receivers_;

  HoldSet holds_;  // before the parked elements, which hold
  std::map<uint64_t, Parked> parked_;
  std::multimap<model::ProcessingTime, uint64_t> retries_;
  uint64_t next_parked_ = 1;
  uint64_t next_number_ = 1;
  std::string changes_;  // operations since the last marker
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> restored_;  // unit and number in the log -> id; for Restore alone
  std::vector<uint32_t> adopted_units_;  // restored here, and not this worker's own
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PAR_DO_H_
