// PAssert: what a PCollection must hold when the pipeline has finished. Checked at the end of Pipeline::Run, which returns the
// first that does not hold as FAILED_PRECONDITION.
//
//   PAssert(sums).ContainsInAnyOrder({{"a", 3}, {"b", 4}});
//   PAssert(sums).InOnTimePane(window).ContainsInAnyOrder({...});
#ifndef HORNBEAM_TESTING_PASSERT_H_
#define HORNBEAM_TESTING_PASSERT_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/testing/collector.h"

namespace hornbeam {

template <typename T>
class PAssertThat {
 public:
  PAssertThat(PCollection<T> collection, std::string name)
      : collection_(collection), name_(std::move(name)), collector_(std::make_shared<Collector<T>>()) {
    collection_ | NamedTransform<CollectTransform<T>>{name_, Collect(collector_.get())};
    collection_.pipeline().AddCheck([keep = collector_] { return absl::OkStatus(); });
  }

  PAssertThat InWindow(const Window& window) const {
    return Where([window](const Collected<T>& element) { return element.window == window; });
  }
  PAssertThat InOnTimePane(const Window& window) const {
    return InWindow(window).Where([](const Collected<T>& e) { return e.pane.timing == PaneTiming::kOnTime; });
  }
  PAssertThat InLatePane(const Window& window) const {
    return InWindow(window).Where([](const Collected<T>& e) { return e.pane.timing == PaneTiming::kLate; });
  }
  PAssertThat InEarlyPane(const Window& window) const {
    return InWindow(window).Where([](const Collected<T>& e) { return e.pane.timing == PaneTiming::kEarly; });
  }

  void ContainsInAnyOrder(std::vector<T> expected) const {
    Check([expected = std::move(expected), name = name_](std::vector<T> actual) mutable -> Status {
      std::vector<T> missing;
      for (T& value : expected) {
        const auto at = std::find(actual.begin(), actual.end(), value);
        if (at == actual.end()) {
          missing.push_back(value);
        } else {
          actual.erase(at);
        }
      }
      if (missing.empty() && actual.empty()) return absl::OkStatus();
      return absl::FailedPreconditionError(absl::StrCat(name, ": ", missing.size(), " expected elements are missing and ",
                                                        actual.size(), " are there that were not expected"));
    });
  }
  void IsEmpty() const { ContainsInAnyOrder({}); }
  void Satisfies(std::function<Status(const std::vector<T>&)> check) const { Check(std::move(check)); }

 private:
  PAssertThat Where(std::function<bool(const Collected<T>&)> condition) const {
    PAssertThat narrowed = *this;
    narrowed.conditions_.push_back(std::move(condition));
    return narrowed;
  }
  void Check(std::function<Status(std::vector<T>)> check) const {
    collection_.pipeline().AddCheck([collector = collector_, conditions = conditions_, check = std::move(check)] {
      std::vector<T> values;
      for (Collected<T>& element : collector->elements()) {
        if (std::all_of(conditions.begin(), conditions.end(), [&](const auto& holds) { return holds(element); })) {
          values.push_back(std::move(element.value));
        }
      }
      return check(std::move(values));
    });
  }

  PCollection<T> collection_;
  std::string name_;
  std::shared_ptr<Collector<T>> collector_;
  std::vector<std::function<bool(const Collected<T>&)>> conditions_;
};

// `name` is unique in the pipeline, as every transform's.
template <typename T>
PAssertThat<T> PAssert(PCollection<T> collection, std::string name = "PAssert") {
  return PAssertThat<T>(collection, std::move(name));
}

}  // namespace hornbeam

#endif  // HORNBEAM_TESTING_PASSERT_H_
