// BatchElements: the elements of a bundle in batches, without an exchange (Beam's BatchElements).
//
//   requests | "Batch" >> BatchElements(100)   // PCollection<std::vector<Request>>
//
// A batch lies in one window, has the least timestamp of its elements, and comes out when it is full or its bundle ends: at the
// next epoch's marker at the latest, so nothing waits longer than an epoch. How elements fall into batches depends on how they
// come; GroupIntoBatches fills batches across bundles, by key.
#ifndef HORNBEAM_TRANSFORMS_BATCH_ELEMENTS_H_
#define HORNBEAM_TRANSFORMS_BATCH_ELEMENTS_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/transforms/par_do.h"
#include "hornbeam/transforms/window.h"

namespace hornbeam {

namespace internal {

template <typename T>
class BatchElementsFn {
 public:
  explicit BatchElementsFn(size_t most) : most_(most) {}

  void ProcessElement(const T& element, const ElementContext& context, OutputReceiver<std::vector<T>>& out) {
    Gathered& gathered = by_window_[context.window()];
    gathered.first = std::min(gathered.first, context.timestamp());
    gathered.elements.push_back(element);
    if (gathered.elements.size() < most_) return;
    out.OutputWithTimestamp(std::move(gathered.elements), gathered.first);
    by_window_.erase(context.window());
  }
  void FinishBundle(BundleOutput<std::vector<T>>& out) {
    for (auto& [window, gathered] : by_window_) out.Output(std::move(gathered.elements), gathered.first, window);
    by_window_.clear();
  }

 private:
  struct Gathered {
    std::vector<T> elements;
    EventTime first = EventTime::Max();
  };
  size_t most_;
  std::map<Window, Gathered> by_window_;
};

}  // namespace internal

class BatchElements : public PTransform {
 public:
  // At most so many in a batch; > 0.
  explicit BatchElements(size_t max_batch_size) : most_(max_batch_size) {}

  template <typename T>
  PCollection<std::vector<T>> Expand(const PCollection<T>& input, const std::string& name) const {
    if (most_ == 0) {
      input.pipeline().NoteMistake(absl::InvalidArgumentError(absl::StrCat("'", name, "': the size of a batch must be above zero")));
    }
    return internal::InEachWindow(input, name) |
           NamedTransform{name, ParDo<std::vector<T>>(internal::BatchElementsFn<T>(most_))};
  }

 private:
  size_t most_;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_BATCH_ELEMENTS_H_
