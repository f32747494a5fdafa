// A sink's half in the pipeline: encodes elements into rows and stages them with their epoch.
#ifndef HORNBEAM_ENGINE_SINK_SINK_OPERATOR_H_
#define HORNBEAM_ENGINE_SINK_SINK_OPERATOR_H_

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "engine/operator.h"
#include "engine/sink/sink_delivery.h"

namespace hornbeam::engine {

// Makes a row of an element. One per worker; not thread-safe.
template <typename T>
class RowEncoder {
 public:
  virtual ~RowEncoder() = default;
  // Before the first row: which of the job's workers it serves. Rows of one shard stay in order among those of one worker.
  virtual void Open(int worker) {}
  // Puts the row into *row (empty at the call) and says which shard it goes to. An error (or an exception) makes the element
  // a failed one: it goes to the sink's second output with the message.
  virtual StatusOr<uint32_t> Encode(const T& element, model::EventTime timestamp, const model::Window& window,
                                    const model::PaneInfo& pane, std::string* row) = 0;
};

// Output 0: elements that the encoder refused, as F, made by `refuse`. Where nothing reads it, such an element fails the job.
template <typename T, typename F>
class SinkOperator final : public Operator {
 public:
  using Refuse = std::function<F(const T& element, const Status& why)>;

  SinkOperator(SinkDelivery* delivery, std::unique_ptr<RowEncoder<T>> encoder, Refuse refuse)
      : delivery_(delivery), encoder_(std::move(encoder)), refuse_(std::move(refuse)) {}

  Status Open(const OperatorContext& context, int outputs) override {
    HB_RETURN_IF_ERROR(Operator::Open(context, outputs));
    encoder_->Open(context.worker);
    return absl::OkStatus();
  }

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<T>(std::move(erased));
    auto refused = std::make_unique<TypedBatch<F>>();
    size_t bytes = 0;
    for (size_t i = 0; i < batch->size(); ++i) {
      row_.clear();
      const StatusOr<uint32_t> shard = Encode(*batch, i);
      if (shard.ok()) {
        PutBytes(&staged_[*shard], row_);
        bytes += row_.size();
        continue;
      }
      OperatorCounters::Add(counters().failed, 1);
      if (!delivery_->refused_are_read()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", context().name, "' cannot make a row of an element: ", shard.status().message(),
                         "; nothing in the pipeline reads what the sink refuses: read it, so that the job can go on without "
                         "such elements"));
      }
      refused->Append(refuse_(batch->values[i], shard.status()), batch->timestamps[i], batch->windows[i],
                      batch->panes[i]);
    }
    // Counted from here on, so that sources wait for a slow seal as they do for a slow destination.
    context().job->AddUndelivered(bytes);
    staged_bytes_ += bytes;
    if (context().job->options().mode == ProcessingMode::kAtLeastOnce) StageAll(open_epoch(), nullptr);
    return output(0).Emit(std::move(refused));
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    if (input >= model::EventTime::Max()) input_ended_ = true;
    return input;
  }

  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    epoch_ = epoch;
    StageAll(epoch, context().job->options().mode == ProcessingMode::kExactlyOnce ? records : nullptr);
    if (input_ended_ && !end_told_) {
      end_told_ = true;
      delivery_->InputFinished(epoch);
    }
    return absl::OkStatus();
  }

 private:
  EpochId open_epoch() const { return epoch_ == 0 ? context().job->first_epoch() : epoch_ + 1; }

  StatusOr<uint32_t> Encode(const TypedBatch<T>& batch, size_t i) {
    try {
      return encoder_->Encode(batch.values[i], batch.timestamps[i], batch.windows[i], batch.panes[i], &row_);
    } catch (const std::exception& error) {
      return absl::InvalidArgumentError(error.what());
    } catch (...) {
      return absl::InvalidArgumentError("an exception that is not a std::exception");
    }
  }

  void StageAll(EpochId epoch, EpochRecords* records) {
    for (auto& [shard, rows] : staged_) {
      if (rows.empty()) continue;
      if (records != nullptr) records->Add(context().id, shard, false, rows);
      delivery_->Stage(epoch, shard, context().worker, std::move(rows));
      rows.clear();
    }
    context().job->TakeUndelivered(staged_bytes_);  // the delivery counts them now
    staged_bytes_ = 0;
  }

  SinkDelivery* const delivery_;
  const std::unique_ptr<RowEncoder<T>> encoder_;
  const Refuse refuse_;
  std::map<uint32_t, std::string> staged_;
  std::string row_;
  size_t staged_bytes_ = 0;
  EpochId epoch_ = 0;  // the newest that has ended here; 0 before the first of this run
  bool input_ended_ = false;
  bool end_told_ = false;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SINK_SINK_OPERATOR_H_
