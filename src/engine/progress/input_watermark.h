// The input watermark of a stage: the least over its channels (edges times workers), each of which
// only advances.
#ifndef HORNBEAM_ENGINE_PROGRESS_INPUT_WATERMARK_H_
#define HORNBEAM_ENGINE_PROGRESS_INPUT_WATERMARK_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/time.h"

namespace hornbeam::engine {

// Single-threaded. A channel that will bring nothing more is at Max() and holds nobody back.
class InputWatermark {
 public:
  // All `channels` start at Min(). Without any, the watermark is Max().
  explicit InputWatermark(size_t channels)
      : channels_(channels, model::EventTime::Min()), at_min_(channels) {
    if (channels == 0) min_ = model::EventTime::Max();
  }

  // The channel's watermark is now `t`; what does not advance it is ignored. Returns whether the
  // minimum has moved.
  bool Advance(size_t channel, model::EventTime t) {
    model::EventTime& current = channels_[channel];
    if (t <= current) return false;
    const bool was_least = current == min_;
    current = t;
    if (!was_least || --at_min_ > 0) return false;
    min_ = *std::min_element(channels_.begin(), channels_.end());
    at_min_ = static_cast<size_t>(std::count(channels_.begin(), channels_.end(), min_));
    return true;
  }

  model::EventTime Get() const { return min_; }
  model::EventTime Get(size_t channel) const { return channels_[channel]; }
  size_t channels() const { return channels_.size(); }

 private:
  std::vector<model::EventTime> channels_;
  model::EventTime min_ = model::EventTime::Min();
  size_t at_min_;  // how many channels are at min_
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_PROGRESS_INPUT_WATERMARK_H_
