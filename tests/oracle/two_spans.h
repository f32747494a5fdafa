// A window function of a program's own: each element lies in two windows from its timestamp on, a
// short one and a long one.
#ifndef HORNBEAM_TESTS_ORACLE_TWO_SPANS_H_
#define HORNBEAM_TESTS_ORACLE_TWO_SPANS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/window.h"

namespace hornbeam::oracle {

class TwoSpans final : public model::CustomWindowFn {
 public:
  // `merges`: windows of a key that begin at the same instant become the long one.
  TwoSpans(model::Duration size, bool merges) : size_(size), merges_(merges) {}

  std::string Describe() const override {
    return absl::StrCat(merges_ ? "merging " : "", "spans of ", size_.us / 1'000'000, " s");
  }
  void Assign(model::EventTime t, std::vector<model::Window>* windows) const override {
    if (t >= model::EventTime::EndOfGlobalWindow() - model::Hours(1))
      return;  // no room: it is dropped
    windows->push_back({t, t + model::Seconds(2)});
    windows->push_back({t, t + size_});
  }
  bool merges() const override { return merges_; }
  void Merge(const std::vector<model::Window>& windows,
             std::vector<MergeResult>* merges) const override {
    for (size_t i = 1; i < windows.size(); ++i) {
      if (windows[i - 1].start != windows[i].start) continue;
      merges->push_back({{windows[i - 1], windows[i]}, windows[i]});
      ++i;
    }
  }

 private:
  const model::Duration size_;
  const bool merges_;
};

}  // namespace hornbeam::oracle

#endif  // HORNBEAM_TESTS_ORACLE_TWO_SPANS_H_
