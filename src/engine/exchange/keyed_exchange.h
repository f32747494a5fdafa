// Sends each element to the worker that owns its key's slice. Hashes every key once; the hash travels with the batch.
#ifndef HORNBEAM_ENGINE_EXCHANGE_KEYED_EXCHANGE_H_
#define HORNBEAM_ENGINE_EXCHANGE_KEYED_EXCHANGE_H_

#include <memory>
#include <utility>
#include <vector>

#include "engine/exchange/exchange_sender.h"
#include "model/coder.h"
#include "model/kv.h"

namespace hornbeam::engine {

template <typename K, typename V>
class KeyedExchange final : public ExchangeSender {
 public:
  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<K, V>>(std::move(erased));
    const size_t n = batch->size();
    batch->hashes.resize(n);
    for (size_t i = 0; i < n; ++i) batch->hashes[i] = model::HashKey(batch->values[i].key);
    if (receivers() == 1) {
      Send(0, std::move(batch));
      return absl::OkStatus();
    }
    if (gathered_.empty()) gathered_.resize(receivers());
    const size_t batch_size = context().job->options().batch_size;
    for (size_t i = 0; i < n; ++i) {
      const size_t to = batch->hashes[i].slice() % receivers();
      std::unique_ptr<TypedBatch<model::KV<K, V>>>& part = gathered_[to];
      if (part == nullptr) part = NewPart(batch_size);
      part->hashes.push_back(batch->hashes[i]);
      part->Append(std::move(batch->values[i]), batch->timestamps[i], batch->windows[i], batch->panes[i]);
      if (part->size() >= batch_size) SendPart(to);
    }
    return absl::OkStatus();
  }

 protected:
  bool SendGathered() override {
    bool sent = false;
    for (size_t to = 0; to < gathered_.size(); ++to) {
      if (gathered_[to] == nullptr) continue;
      SendPart(to);
      sent = true;
    }
    return sent;
  }

 private:
  using Part = TypedBatch<model::KV<K, V>>;

  // A part that is being gathered counts as work under way: it has left one stage and not reached the next.
  std::unique_ptr<Part> NewPart(size_t capacity) {
    context().job->BeginWork();
    auto part = std::make_unique<Part>();
    part->Reserve(capacity);
    part->hashes.reserve(capacity);
    return part;
  }
  void SendPart(size_t to) {
    Send(to, std::move(gathered_[to]));
    context().job->EndWork();
  }

  std::vector<std::unique_ptr<Part>> gathered_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EXCHANGE_KEYED_EXCHANGE_H_
