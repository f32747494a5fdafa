// Sends every batch to all workers of the next stage: for what is small, or holds what is shared.
#ifndef HORNBEAM_ENGINE_EXCHANGE_BROADCAST_H_
#define HORNBEAM_ENGINE_EXCHANGE_BROADCAST_H_

#include <memory>
#include <utility>

#include "engine/exchange/exchange_sender.h"

namespace hornbeam::engine {

class BroadcastSender final : public ExchangeSender {
 public:
  Status Process(int input, std::unique_ptr<Batch> batch) override {
    for (size_t to = 0; to + 1 < receivers(); ++to) Send(to, batch->Clone());
    Send(receivers() - 1, std::move(batch));
    return absl::OkStatus();
  }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EXCHANGE_BROADCAST_H_
