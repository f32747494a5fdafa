// CombineGlobally: one value of all elements of a window.
//
//   amounts | "Sum" >> CombineGlobally(Sum<int64_t>());
//   amounts | "Sum" >> CombineGlobally(Sum<int64_t>()).WithoutDefaults();     // in windows other than the global one
//
// In the global window, what is combined of nothing comes out where there are no elements (Beam's default value), at the end of the
// input. Other windows without elements are not known to be, so there WithoutDefaults has to be said; a singleton view with a default
// (side_input.h) may be what is wanted.
#ifndef HORNBEAM_TRANSFORMS_COMBINE_GLOBALLY_H_
#define HORNBEAM_TRANSFORMS_COMBINE_GLOBALLY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hornbeam/transforms/combine.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/elementwise.h"
#include "hornbeam/transforms/side_input.h"

namespace hornbeam {

template <typename CombineFn>
class CombineGlobally : public PTransform {
  using InputT = typename CombineFn::InputT;
  using OutputT = typename CombineFn::OutputT;

 public:
  explicit CombineGlobally(CombineFn fn) : fn_(std::move(fn)) {}

  CombineGlobally WithoutDefaults() const {
    CombineGlobally changed = *this;
    changed.has_default_ = false;
    return changed;
  }

  PCollection<OutputT> Expand(const PCollection<InputT>& input, const std::string& name) const {
    const auto combined = input | Named(name, "OneKey", Map([](const InputT& value) { return KV<bool, InputT>{true, value}; }))
                                | Named(name, "Combine", CombinePerKey(fn_))
                                | Named(name, "Value", Map([](const KV<bool, OutputT>& all) { return all.value; }));
    if (!has_default_) return combined;
    if (input.windowing().window_fn != WindowFn::Global()) {
      input.pipeline().NoteMistake(absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' cannot give a default for windows without elements in ", ToString(input.windowing().window_fn),
          "; say WithoutDefaults()")));
      return combined;
    }
    return Flatten(absl::StrCat(name, "/OrDefault"), std::vector{combined, Default(combined, name)});
  }

 private:
  template <typename Transform>
  static NamedTransform<Transform> Named(const std::string& name, const char* inner, Transform transform) {
    return {absl::StrCat(name, "/", inner), std::move(transform)};
  }

  // One element where `combined` has none at its end.
  PCollection<OutputT> Default(const PCollection<OutputT>& combined, const std::string& name) const {
    const auto any = combined | Named(name, "Any", Map([](const OutputT&) { return int64_t{1}; })) | Named(name, "AnyView", AsList());
    const auto once = Create<int64_t>(std::vector<int64_t>{1}).Expand(combined.pipeline(), absl::StrCat(name, "/Once"));
    return once | Named(name, "Default",
                        ParDoWithSideInputs<OutputT>(
                            [fn = fn_](const int64_t&, const std::vector<int64_t>& any_of_them, OutputReceiver<OutputT>& out) {
                              if (any_of_them.empty()) out.Output(fn.ExtractOutput(fn.CreateAccumulator()));
                            },
                            any));
  }

  CombineFn fn_;
  bool has_default_ = true;
};

}  // namespace hornbeam

#endif  // HORNBEAM_TRANSFORMS_COMBINE_GLOBALLY_H_
