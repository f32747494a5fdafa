// Spreads elements evenly over the workers of the next stage, whatever they are.
#ifndef HORNBEAM_ENGINE_EXCHANGE_SPREAD_EXCHANGE_H_
#define HORNBEAM_ENGINE_EXCHANGE_SPREAD_EXCHANGE_H_

#include <memory>
#include <utility>

#include "engine/exchange/exchange_sender.h"

namespace hornbeam::engine {

// Every batch is cut into as many parts as there are workers, and the first part goes to another worker each time. Where an element
// goes depends on how the input was cut into batches, not on what it is: what is behind must not keep state by key.
template <typename T>
class SpreadExchange final : public ExchangeSender {
 public:
  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<T>(std::move(erased));
    batch->hashes.clear();
    const size_t workers = receivers(), n = batch->size();
    const size_t first = next_++ % workers;
    if (workers == 1 || n == 1) {
      Send(first, std::move(batch));
      return absl::OkStatus();
    }
    for (size_t part = 0, from = 0; part < workers; ++part) {
      const size_t to = n * (part + 1) / workers;
      if (from == to) continue;
      auto some = std::make_unique<TypedBatch<T>>();
      some->Reserve(to - from);
      some->owner = batch->owner;
      for (; from < to; ++from) {
        some->Append(std::move(batch->values[from]), batch->timestamps[from], batch->windows[from], batch->panes[from]);
      }
      Send((first + part) % workers, std::move(some));
    }
    return absl::OkStatus();
  }

 private:
  size_t next_ = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EXCHANGE_SPREAD_EXCHANGE_H_
