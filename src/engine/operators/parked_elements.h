// Elements on which a DoFn failed and that wait to be tried again (FailurePolicy::kRetry).
//
// They are durable: each belongs to a unit of the operator's state in the job's log and has a number
// there (docs/formats/job_log.md, Parked elements). Each holds its timestamp. They are in memory, so
// they count as the bytes that sinks have not delivered do, and sources rest while there are too many.
// Single-threaded.
#ifndef HORNBEAM_ENGINE_OPERATORS_PARKED_ELEMENTS_H_
#define HORNBEAM_ENGINE_OPERATORS_PARKED_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/batch.h"
#include "engine/job/job_context.h"
#include "engine/operators/failed_call.h"
#include "engine/operators/parked_report.h"
#include "engine/progress/holds.h"
#include "model/coder.h"
#include "model/element_bytes.h"

namespace hornbeam::engine {

// The part that does not depend on the type of the elements.
class ParkedStore {
 public:
  virtual ~ParkedStore() = default;

  // The least timestamp that is held; Max() without any.
  virtual model::EventTime HeldTime() const = 0;
  virtual model::ProcessingTime NextRetry() const = 0;
  virtual ParkedSnapshot Snapshot() const = 0;

  // What has changed since the last call, by unit; never empty strings.
  virtual std::map<uint32_t, std::string> TakeChanges() = 0;
  // All of a unit. What had changed in it is in there.
  virtual void LogAll(uint32_t unit, std::string* out) const = 0;
  // `is_own`: the unit goes on here; otherwise it ends with MoveAllTo.
  virtual Status Restore(uint32_t unit, bool is_own, std::string_view payload) = 0;
  // The unit's state comes anew.
  virtual void ForgetRestored(uint32_t unit) = 0;
};

template <typename In>
class ParkedElements final : public ParkedStore {
 public:
  using Id = uint64_t;  // in this run

  // Before anything else; `job` outlives it.
  void Open(JobContext* job) { job_ = job; }

  model::EventTime HeldTime() const override { return holds_.Min(); }
  model::ProcessingTime NextRetry() const override {
    return retries_.empty() ? model::ProcessingTime::Never() : retries_.begin()->first;
  }
  ParkedSnapshot Snapshot() const override {
    if (parked_.empty()) return {};
    return {static_cast<int64_t>(parked_.size()), parked_.begin()->second.since_us, holds_.Min(), newest_error_};
  }

  // Parks a copy of element i, which has failed `attempts` times.
  void Park(uint32_t unit, const TypedBatch<In>& batch, size_t i, int64_t attempts, std::string error) {
    auto one = std::make_unique<TypedBatch<In>>();
    one->Append(batch.values[i], batch.timestamps[i], batch.windows[i], batch.panes[i]);
    Parked& parked = Add(unit, std::move(one), attempts, std::move(error), job_->Now() + NextBackoff(attempts)).second;
    parked.number = ++last_number_;
    std::string* const changes = &changes_[unit];
    const size_t before = changes->size();
    Log(parked, changes);
    Count(parked, changes->size() - before);
  }

  // Takes the retry of the first element whose time has come. It is followed by FailedAgain or Release.
  std::optional<Id> PopDue(model::ProcessingTime now) {
    while (!retries_.empty() && retries_.begin()->first <= now) {
      const Id id = retries_.begin()->second;
      retries_.erase(retries_.begin());
      if (parked_.contains(id)) return id;  // the log may have had it parked, and then no more
    }
    return std::nullopt;
  }
  const TypedBatch<In>& Element(Id id) const { return *parked_.at(id).batch; }

  void FailedAgain(Id id, int64_t more_attempts, std::string error) {
    Parked& parked = parked_.at(id);
    parked.attempts += more_attempts;
    newest_error_ = error;
    parked.error = std::move(error);
    retries_.insert({job_->Now() + NextBackoff(parked.attempts), id});
    if (std::string* const changes = LogOp(Op::kRetried, parked)) LogAttempts(parked, changes);
  }
  void Release(Id id) {
    const auto at = parked_.find(id);
    LogOp(Op::kUnpark, at->second);
    Erase(at);
  }

  std::map<uint32_t, std::string> TakeChanges() override { return std::exchange(changes_, {}); }
  void LogAll(uint32_t unit, std::string* out) const override {
    for (const auto& [id, parked] : parked_) {
      if (parked.unit == unit) Log(parked, out);
    }
  }
  // What others had parked is written from here on as `unit`'s, under numbers there.
  void MoveAllTo(uint32_t unit) {
    changes_.clear();
    for (auto& [id, parked] : parked_) {
      if (parked.number == kNoNumber) parked.number = ++last_number_;
      parked.unit = unit;
    }
  }

  Status Restore(uint32_t unit, bool is_own, std::string_view payload) override {
    ByteReader in(payload);
    while (in.ok() && !in.done()) HB_RETURN_IF_ERROR(RestoreOp(unit, is_own, in));
    return in.ok() ? absl::OkStatus() : Malformed();
  }
  void ForgetRestored(uint32_t unit) override {
    for (auto at = restored_.lower_bound({unit, 0}); at != restored_.end() && at->first.first == unit;) {
      Erase(parked_.find(at->second));
      at = restored_.erase(at);
    }
  }

 private:
  enum class Op : uint8_t { kPark = 1, kRetried = 2, kUnpark = 3 };
  static constexpr uint64_t kNoNumber = 0;
  static constexpr size_t kOverheadBytes = 256;  // what one costs beside its encoded bytes, about

  struct Parked {
    uint32_t unit = 0;
    std::unique_ptr<TypedBatch<In>> batch;  // of one element
    int64_t attempts = 0;
    std::string error;
    Hold hold;
    int64_t since_us = 0;
    uint64_t number = kNoNumber;  // in its unit; none while the unit is another worker's
    size_t bytes = 0;             // that the job counts for it
  };
  using ById = std::map<Id, Parked>;

  model::Duration NextBackoff(int64_t attempts) const { return Backoff(attempts, job_->options().attempts); }

  typename ById::value_type& Add(uint32_t unit, std::unique_ptr<TypedBatch<In>> one, int64_t attempts, std::string error,
                                 model::ProcessingTime retry_at) {
    const Id id = next_id_++;
    Hold hold = holds_.HoldAt(one->timestamps[0]);
    retries_.insert({retry_at, id});
    newest_error_ = error;
    return *parked_
                .insert({id, Parked{unit, std::move(one), attempts, std::move(error), std::move(hold), job_->Now().us}})
                .first;
  }
  void Count(Parked& parked, size_t encoded_bytes) {
    parked.bytes = encoded_bytes + kOverheadBytes;
    job_->AddUndelivered(parked.bytes);
  }
  void Erase(typename ById::iterator at) {
    job_->TakeUndelivered(at->second.bytes);
    parked_.erase(at);
  }

  static void Log(const Parked& parked, std::string* out) {
    out->push_back(static_cast<char>(Op::kPark));
    PutVarint(out, parked.number);
    model::Coder<In>::Encode(parked.batch->values[0], out);
    model::Coder<model::EventTime>::Encode(parked.batch->timestamps[0], out);
    model::PutWindow(out, parked.batch->windows[0]);
    model::PutPane(out, parked.batch->panes[0]);
    LogAttempts(parked, out);
  }
  static void LogAttempts(const Parked& parked, std::string* out) {
    PutVarint(out, static_cast<uint64_t>(parked.attempts));
    PutBytes(out, parked.error);
  }
  // The op and the element's number. One that is still in another worker's unit is written whole at the next marker.
  std::string* LogOp(Op op, const Parked& parked) {
    if (parked.number == kNoNumber) return nullptr;
    std::string* const changes = &changes_[parked.unit];
    changes->push_back(static_cast<char>(op));
    PutVarint(changes, parked.number);
    return changes;
  }

  static Status Malformed() { return absl::DataLossError("the log holds malformed parked elements"); }

  Status RestoreOp(uint32_t unit, bool is_own, ByteReader& in) {
    const auto op = static_cast<Op>(in.Byte());
    const uint64_t number = in.Varint();
    if (op == Op::kPark) return RestoreParked(unit, is_own, number, in);
    const auto known = restored_.find({unit, number});
    if (known == restored_.end()) return Malformed();
    const auto at = parked_.find(known->second);
    if (op == Op::kRetried) {
      RestoreAttempts(in, &at->second);
      return in.ok() ? absl::OkStatus() : Malformed();
    }
    if (op != Op::kUnpark) return Malformed();
    Erase(at);
    restored_.erase(known);
    return absl::OkStatus();
  }

  Status RestoreParked(uint32_t unit, bool is_own, uint64_t number, ByteReader& in) {
    const size_t before = in.remaining();
    auto one = std::make_unique<TypedBatch<In>>();
    In element;
    model::EventTime timestamp;
    if (!model::Coder<In>::Decode(in, &element) || !model::Coder<model::EventTime>::Decode(in, &timestamp)) return Malformed();
    const model::Window window = model::ReadWindow(in);
    one->Append(std::move(element), timestamp, window, model::ReadPane(in));
    // Tried at once: what failed may have been mended.
    auto& [id, parked] = Add(unit, std::move(one), 0, {}, job_->Now());
    RestoreAttempts(in, &parked);
    Count(parked, before - in.remaining());
    if (is_own) {
      parked.number = number;
      last_number_ = std::max(last_number_, number);
    }
    return restored_.insert({{unit, number}, id}).second && in.ok() ? absl::OkStatus() : Malformed();
  }
  void RestoreAttempts(ByteReader& in, Parked* parked) {
    parked->attempts = static_cast<int64_t>(in.Varint());
    parked->error.assign(in.Bytes());
    newest_error_ = parked->error;
  }

  JobContext* job_ = nullptr;
  HoldSet holds_;  // before the parked elements, which hold
  ById parked_;
  std::multimap<model::ProcessingTime, Id> retries_;
  std::string newest_error_;
  Id next_id_ = 1;
  uint64_t last_number_ = 0;
  std::map<uint32_t, std::string> changes_;
  std::map<std::pair<uint32_t, uint64_t>, Id> restored_;  // unit and number in the log; for Restore alone
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_PARKED_ELEMENTS_H_
