// How much memory the keyed state of a job takes, and may take.
#ifndef HORNBEAM_ENGINE_STATE_STATE_BUDGET_H_
#define HORNBEAM_ENGINE_STATE_STATE_BUDGET_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hornbeam::engine {

// One for all workers of a job. Thread-safe.
class StateBudget {
 public:
  // A limit of 0: none.
  explicit StateBudget(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void Add(int64_t bytes) { used_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void AddCold(int64_t cells) { cold_cells_.fetch_add(cells, std::memory_order_relaxed); }
  // Keys and windows whose state is out of memory.
  int64_t cold_cells() const { return cold_cells_.load(std::memory_order_relaxed); }
  size_t limit_bytes() const { return limit_bytes_; }
  size_t used_bytes() const { return static_cast<size_t>(std::max<int64_t>(0, used_bytes_.load(std::memory_order_relaxed))); }

  // How many of its `own` bytes an operator is to put out of memory: 0 while the job's state is within the limit. Where it is not,
  // every operator gives up the same part of what it has, and somewhat more than it must, so that this is rare.
  size_t ExcessOf(size_t own) const {
    const size_t used = used_bytes();
    if (limit_bytes_ == 0 || used <= limit_bytes_) return 0;
    const double kept = 0.8 * static_cast<double>(limit_bytes_) / static_cast<double>(used);
    return own - static_cast<size_t>(static_cast<double>(own) * kept);
  }

 private:
  const size_t limit_bytes_;
  std::atomic<int64_t> used_bytes_{0};
  std::atomic<int64_t> cold_cells_{0};
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_STATE_BUDGET_H_
