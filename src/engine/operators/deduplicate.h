// Lets the first element of each key and window through, at once, and drops those that follow.
//
// It remembers 128-bit fingerprints of keys, not keys, until the window (with its allowed lateness) has passed.
#ifndef HORNBEAM_ENGINE_OPERATORS_DEDUPLICATE_H_
#define HORNBEAM_ENGINE_OPERATORS_DEDUPLICATE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/operator.h"
#include "engine/state/fingerprint_set.h"
#include "engine/state/window_log.h"
#include "engine/state/window_slices.h"
#include "model/kv.h"
#include "model/windowing_strategy.h"

namespace hornbeam::engine {

// The part that does not depend on the types of the elements.
class SeenKeys {
 public:
  explicit SeenKeys(model::Duration allowed_lateness) { strategy_.allowed_lateness = allowed_lateness; }

  bool IsExpired(const model::Window& window) const { return strategy_.IsExpired(window, watermark_); }
  // For each element whether its key is new in its window.
  void Insert(const UniformColumn<model::Window>& windows, const std::vector<model::KeyHash>& hashes,
              std::vector<bool>* is_new);
  void AdvanceWatermark(model::EventTime watermark);

  void OnMarker(OperatorId id, EpochRecords* records);
  void Rewrite(OperatorId id, uint32_t slice, EpochRecords* records);
  Status Restore(uint32_t slice, bool replaces, std::string_view payload);

 private:
  struct Table {
    uint32_t slice = 0;
    FingerprintSet seen;
    std::vector<model::KeyHash> fresh;  // since the last marker
  };
  struct Nothing {};
  struct Dirty {
    uint32_t slice;
    model::Window window;
    bool dropped;
    friend auto operator<=>(const Dirty&, const Dirty&) = default;
  };
  using Windows = WindowSlices<Table, Nothing>;

  Table& TableOf(const model::Window& window, uint32_t slice) {
    bool is_new = false;
    return windows_.FindOrAdd(window, &is_new).table(slice);
  }

  model::WindowingStrategy strategy_;
  model::EventTime watermark_ = model::EventTime::Min();
  Windows windows_;
  std::vector<Dirty> dirty_;
  std::vector<Table*> tables_;  // scratch of Insert
};

template <typename K, typename V>
class DeduplicateOperator final : public Operator {
 public:
  explicit DeduplicateOperator(const model::WindowingStrategy& strategy) : seen_(strategy.allowed_lateness) {}

  Status Process(int input, std::unique_ptr<Batch> erased) override {
    auto batch = As<model::KV<K, V>>(std::move(erased));
    seen_.Insert(batch->windows, batch->hashes, &is_new_);
    size_t kept = 0, late = 0;
    auto firsts = std::make_unique<TypedBatch<model::KV<K, V>>>();
    firsts->Reserve(batch->size());
    for (size_t i = 0; i < batch->size(); ++i) {
      if (!is_new_[i]) {
        late += seen_.IsExpired(batch->windows[i]);
        continue;
      }
      ++kept;
      firsts->Append(std::move(batch->values[i]), batch->timestamps[i], batch->windows[i], batch->panes[i]);
    }
    OperatorCounters::Add(counters().dropped_late, static_cast<int64_t>(late));
    return output(0).Emit(std::move(firsts));
  }

  StatusOr<model::EventTime> AdvanceWatermark(model::EventTime input) override {
    seen_.AdvanceWatermark(input);
    return input;
  }
  Status OnMarker(EpochId epoch, EpochRecords* records) override {
    seen_.OnMarker(context().id, records);
    return absl::OkStatus();
  }
  Status Rewrite(uint32_t unit, EpochRecords* records) override {
    seen_.Rewrite(context().id, unit, records);
    return absl::OkStatus();
  }
  Status Restore(uint32_t unit, bool replaces, std::string_view payload) override {
    return seen_.Restore(unit, replaces, payload);
  }

 private:
  SeenKeys seen_;
  std::vector<bool> is_new_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_DEDUPLICATE_H_
