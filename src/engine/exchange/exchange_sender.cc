#include "engine/exchange/exchange_sender.h"

#include <utility>

namespace hornbeam::engine {

void ExchangeSender::Connect(std::vector<Receiver> receivers) {
  lanes_ = std::vector<Lane>(receivers.size());
  for (size_t i = 0; i < receivers.size(); ++i) lanes_[i].to = receivers[i];
}

void ExchangeSender::Push(Lane& lane, Message message) {
  if (message.is_work()) context().job->BeginWork();
  if (lane.waiting.empty() && lane.to.channel->TryPush(std::move(message))) {
    lane.to.parker->Unpark();
    return;
  }
  lane.waiting.push_back(std::move(message));
  ++waiting_;
}

void ExchangeSender::Send(size_t receiver, std::unique_ptr<Batch> batch) {
  Message message;
  message.batch = std::move(batch);
  Push(lanes_[receiver], std::move(message));
}

bool ExchangeSender::Drain() {
  if (waiting_ == 0) return false;
  bool moved = false;
  for (Lane& lane : lanes_) {
    bool lane_moved = false;
    while (!lane.waiting.empty() && lane.to.channel->TryPush(std::move(lane.waiting.front()))) {
      lane.waiting.pop_front();
      --waiting_;
      lane_moved = true;
    }
    if (lane_moved) lane.to.parker->Unpark();
    moved |= lane_moved;
  }
  return moved;
}

bool ExchangeSender::Flush() {
  const bool sent = SendGathered();
  return Drain() || sent;
}

void ExchangeSender::Broadcast(const Message& prototype) {
  SendGathered();
  for (Lane& lane : lanes_) {
    if (lane.to.channel == nullptr) continue;
    Message message;
    message.kind = prototype.kind;
    message.watermark = prototype.watermark;
    message.epoch = prototype.epoch;
    Push(lane, std::move(message));
  }
}

StatusOr<model::EventTime> ExchangeSender::AdvanceWatermark(model::EventTime input) {
  if (input > sent_watermark_) {
    sent_watermark_ = input;
    Message message;
    message.kind = Message::Kind::kWatermark;
    message.watermark = input;
    Broadcast(message);
  }
  return input;
}

Status ExchangeSender::OnMarker(EpochId epoch, EpochRecords* records) {
  Message message;
  message.kind = Message::Kind::kMarker;
  message.epoch = epoch;
  Broadcast(message);
  return absl::OkStatus();
}

}  // namespace hornbeam::engine
