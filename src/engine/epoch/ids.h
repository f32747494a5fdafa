// The names under which operators keep durable state.
#ifndef HORNBEAM_ENGINE_EPOCH_IDS_H_
#define HORNBEAM_ENGINE_EPOCH_IDS_H_

#include <compare>
#include <cstdint>
#include <utility>

namespace hornbeam::engine {

// 1, 2, 3, ... and never the same twice in a job; 0 is before the first.
using EpochId = uint64_t;

// An operator of the plan that keeps state; the same number after every restart.
enum class OperatorId : uint32_t {};

// What is written, replaced and recovered as a whole. `unit` is the key slice for keyed state, the
// split of a source, the shard of a sink.
struct UnitKey {
  OperatorId op{};
  uint32_t unit = 0;

  friend auto operator<=>(const UnitKey&, const UnitKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const UnitKey& key) {
    return H::combine(std::move(h), key.op, key.unit);
  }
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_EPOCH_IDS_H_
