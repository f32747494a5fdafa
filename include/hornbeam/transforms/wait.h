// Wait.on: elements go on once others are through.
//
//   const auto written = rows | "First" >> WriteTable(...);                       // what it answers
//   rows | "Wait" >> Wait::On(written) | "Second" >> WriteTable(...);
//
// An element of a window passes when that window is closed in every signal: when the signal's watermark has passed its end and the
// signal's allowed lateness, as in Beam. What is in the signal does not matter. If a signal has other windows, it is the one that the
// element's window maps to as a side input's; one in the global window never closes before the signal's end.
//
// What waits is durable, is held in memory, and holds the watermark. Elements keep timestamp, window and pane.
#ifndef HORNBEAM_TRANSFORMS_WAIT_H_
#define HORNBEAM_TRANSFORMS_WAIT_H_

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/operators/wait_signal.h"
#include "hornbeam/transforms/side_input.h"

namespace hornbeam {

namespace internal {

template <typename T>
PCollectionView<engine::SignalView, SeeAll> MakeSignal(const PCollection<T>& signal, const std::string& name) {
  Pipeline& pipeline = signal.pipeline();
  if (signal.windowing().merges()) {
    pipeline.NoteMistake(absl::InvalidArgumentError(
        absl::StrCat("'", name, "' waits for windows of ", ToString(signal.windowing().window_fn),
                     ", which are not settled until they are grouped: group them first, or give the signal other windows")));
  }
  auto factory = std::make_shared<engine::OperatorFactory>();
  factory->new_operator = [lateness = signal.windowing().allowed_lateness] {
    return std::make_unique<engine::WaitSignalOperator>(lateness);
  };
  return {Handle<engine::SideUpdate<engine::SignalView>>(
              pipeline, pipeline.Add(name, "hornbeam:transform:wait_signal:v1", {signal.id()}, std::move(factory),
                                     {signal.windowing()}, signal.bounded())),
          {}};
}

// Takes an element, the signals' views, and the output.
struct PassOn {
  template <typename In, typename... Rest>
  void operator()(const In& element, Rest&... rest) const {
    std::get<sizeof...(Rest) - 1>(std::tie(rest...)).Output(element);
  }
};

}  // namespace internal

template <typename... Signals>
class WaitOn : public PTransform {
 public:
  explicit WaitOn(PCollection<Signals>... signals) : signals_(signals...) {}

  template <typename T>
  PCollection<T> Expand(const PCollection<T>& input, const std::string& name) const {
    const auto views = std::apply(
        [&](const auto&... signal) {
          int i = 0;
          const auto next_name = [&] { return absl::StrCat(name, "/Signal", i++); };
          return std::tuple{internal::MakeSignal(signal, next_name())...};  // in their order
        },
        signals_);
    return internal::ApplySideInputParDo<T, T>(input, name, internal::PassOn{}, {FailurePolicy::kFail, {"main"}, {}}, views).main();
  }

 private:
  std::tuple<PCollection<Signals>...> signals_;
};

struct Wait {
  template <typename... Signals>
  static WaitOn<Signals...> On(PCollection<Signals>... signals) {
    static_assert(sizeof...(Signals) > 0, "Wait::On takes the collections to wait for");
    return WaitOn<Signals...>(signals...);
  }
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_WAIT_H_
