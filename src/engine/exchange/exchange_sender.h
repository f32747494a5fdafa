// The end of a stage: hands what it is given to the workers of the next stage.
//
// A worker never blocks on a full channel: what does not fit waits in the sender's outbox, and the stage does not run again
// until the outbox is empty. Since stages form a DAG and the last ones always have room, this cannot deadlock.
#ifndef HORNBEAM_ENGINE_EXCHANGE_EXCHANGE_SENDER_H_
#define HORNBEAM_ENGINE_EXCHANGE_EXCHANGE_SENDER_H_

#include <deque>
#include <memory>
#include <vector>

#include "engine/exchange/channel.h"
#include "engine/operator.h"
#include "engine/worker/parker.h"

namespace hornbeam::engine {

class ExchangeSender : public Operator {
 public:
  struct Receiver {
    Channel* channel = nullptr;  // null: this worker sends nothing there
    Parker* parker = nullptr;
  };

  void Connect(std::vector<Receiver> receivers);

  // Nothing waits: the stage may run.
  bool HasRoom() const { return waiting_ == 0; }
  // Tries to pass on what waits, and what was gathered for a fuller batch; true when anything moved.
  bool Flush();
  // Passes on only what waits.
  bool Drain();

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) final;
  Status OnMarker(EpochId epoch, EpochRecords* records) final;

 protected:
  size_t receivers() const { return lanes_.size(); }
  // Takes its place behind what waits for that worker.
  void Send(size_t receiver, std::unique_ptr<Batch> batch);
  // Sends what was gathered; true when there was anything.
  virtual bool SendGathered() { return false; }

 private:
  struct Lane {
    Receiver to;
    std::deque<Message> waiting;
  };
  void Push(Lane& lane, Message message);
  void Broadcast(const Message& prototype);

  std::vector<Lane> lanes_;
  size_t waiting_ = 0;  // messages in all lanes
  model::EventTime sent_watermark_ = model::EventTime::Min();
};

// Passes batches to the next stage on the same worker.
class ForwardSender final : public ExchangeSender {
 public:
  Status Process(int input, std::unique_ptr<Batch> batch) override {
    Send(static_cast<size_t>(context().worker), std::move(batch));
    return absl::OkStatus();
  }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EXCHANGE_EXCHANGE_SENDER_H_
