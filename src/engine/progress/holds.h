// What keeps an output watermark back.
//
// A Hold is an owned object: as long as it lives, the watermark of its HoldSet goes no further than
// the hold's time; drop it and time moves on. What must come out before some instant (a buffered
// element, a pending pane, a timer's output) owns one. Single-threaded, as all of a worker's
// progress; a HoldSet outlives its holds.
#ifndef HORNBEAM_ENGINE_PROGRESS_HOLDS_H_
#define HORNBEAM_ENGINE_PROGRESS_HOLDS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "model/time.h"

namespace hornbeam::engine {

class Hold;

// The times that are held and how often each is. Min() is free; holding and releasing cost O(log n)
// at most, and nothing more than a count where the time is held already, as the end of a window
// mostly is.
class HoldSet {
 public:
  HoldSet() = default;
  HoldSet(const HoldSet&) = delete;
  HoldSet& operator=(const HoldSet&) = delete;
  ~HoldSet() { HB_CHECK(held_ == left_); }

  [[nodiscard]] Hold HoldAt(model::EventTime t);
  // Ends a hold at `t` that was left (Hold::Leave); whoever comes back has one of its own by then.
  void EndLeft(model::EventTime t) {
    --left_;
    Remove(t.us);
  }

  // The least time that is held; Max() where none is.
  model::EventTime Min() const {
    return heap_.empty() ? model::EventTime::Max() : model::EventTime{heap_.front()};
  }
  size_t size() const { return held_; }

 private:
  friend class Hold;

  void Add(int64_t t) {
    ++held_;
    const auto [it, is_new] = counts_.try_emplace(t, 0);
    ++it->second;
    if (!is_new) return;
    heap_.push_back(t);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  // A time in the middle of the heap stays there, with a count of zero, until it comes to the top.
  void Remove(int64_t t) {
    --held_;
    const auto it = counts_.find(t);
    if (--it->second > 0 || t != heap_.front()) return;
    while (!heap_.empty()) {
      const auto top = counts_.find(heap_.front());
      if (top->second > 0) return;
      counts_.erase(top);
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
  }

  std::vector<int64_t>
      heap_;  // each key of counts_ once, the least first; the first one's count is above zero
  absl::flat_hash_map<int64_t, int64_t> counts_;
  size_t held_ = 0;
  size_t left_ = 0;  // of those, holds without an owner in memory
};

class Hold {
 public:
  Hold() = default;  // holds nothing
  Hold(Hold&& other) noexcept : set_(std::exchange(other.set_, nullptr)), time_(other.time_) {}
  Hold& operator=(Hold&& other) noexcept {
    if (this != &other) {
      Release();
      set_ = std::exchange(other.set_, nullptr);
      time_ = other.time_;
    }
    return *this;
  }
  ~Hold() { Release(); }

  bool is_held() const { return set_ != nullptr; }
  model::EventTime time() const { return time_; }

  // Holds another time instead. REQUIRES: is_held().
  void MoveTo(model::EventTime t) {
    if (t == time_) return;
    set_->Add(t.us);  // first, so that the minimum never shoots up in between
    set_->Remove(time_.us);
    time_ = t;
  }
  // Stops owning it, and the time stays held: its owner leaves memory (HoldSet::EndLeft).
  void Leave() {
    if (set_ != nullptr) ++std::exchange(set_, nullptr)->left_;
  }
  void Release() {
    if (set_ != nullptr) std::exchange(set_, nullptr)->Remove(time_.us);
  }

 private:
  friend class HoldSet;
  Hold(HoldSet* set, model::EventTime t) : set_(set), time_(t) { set_->Add(t.us); }

  HoldSet* set_ = nullptr;
  model::EventTime time_;
};

inline Hold HoldSet::HoldAt(model::EventTime t) { return Hold(this, t); }

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_PROGRESS_HOLDS_H_
