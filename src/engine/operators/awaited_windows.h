// Which windows of a main input wait for which window of a side input: so that what has become ready is found without looking at
// what has not.
#ifndef HORNBEAM_ENGINE_OPERATORS_AWAITED_WINDOWS_H_
#define HORNBEAM_ENGINE_OPERATORS_AWAITED_WINDOWS_H_

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "model/time.h"
#include "model/window.h"

namespace hornbeam::engine {

// A main window waits for one side input at a time, the first that is not ready for it; whoever takes it out adds it again where
// another one is not ready either. Single-threaded.
class AwaitedWindows {
 public:
  explicit AwaitedWindows(size_t sides) : sides_(sides) {}

  // `main` waits for `awaited` of side input `side`.
  void Add(size_t side, const model::Window& awaited, const model::Window& main) {
    sides_[side][{awaited.MaxTimestamp(), awaited}].push_back(main);
  }

  // A pane of `awaited` has come: appends what has waited for it.
  void Take(size_t side, const model::Window& awaited, std::vector<model::Window>* main) {
    const auto at = sides_[side].find({awaited.MaxTimestamp(), awaited});
    if (at != sides_[side].end()) TakeAt(side, at, main);
  }
  // The side input's watermark is `watermark`: appends what has waited for windows that it has passed.
  void TakePassed(size_t side, model::EventTime watermark, std::vector<model::Window>* main) {
    while (!sides_[side].empty() && sides_[side].begin()->first.second.IsPassedBy(watermark)) TakeAt(side, sides_[side].begin(), main);
  }

  void Clear() {
    for (Side& side : sides_) side.clear();
  }

 private:
  using Side = std::map<std::pair<model::EventTime, model::Window>, std::vector<model::Window>>;  // by the end of what is awaited

  void TakeAt(size_t side, Side::iterator at, std::vector<model::Window>* main) {
    main->insert(main->end(), at->second.begin(), at->second.end());
    sides_[side].erase(at);
  }

  std::vector<Side> sides_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_AWAITED_WINDOWS_H_
