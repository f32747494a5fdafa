// All time comes through a Clock, so that every test can own it.
#ifndef HORNBEAM_BASE_CLOCK_H_
#define HORNBEAM_BASE_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace hornbeam {

// Thread-safe. `NowMicros` is wall time since the Unix epoch; `MonotonicMicros` only ever grows.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowMicros() const = 0;
  virtual int64_t MonotonicMicros() const = 0;

  // The machine's clock; never deleted.
  static Clock* System();
};

// Stands still until it is told to move. Both readings advance together.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t start_us = 0) : now_us_(start_us) {}
  int64_t NowMicros() const override { return now_us_.load(std::memory_order_acquire); }
  int64_t MonotonicMicros() const override { return NowMicros(); }
  void AdvanceMicros(int64_t by_us) { now_us_.fetch_add(by_us, std::memory_order_acq_rel); }
  void SetMicros(int64_t now_us) { now_us_.store(now_us, std::memory_order_release); }

 private:
  std::atomic<int64_t> now_us_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_CLOCK_H_
