// What a DoFn may have beside ProcessElement, found by its presence: a DoFn without costs nothing.
//
//   void Setup();        // once per worker, before anything else
//   void StartBundle();  // before the first element of a bundle
//   void FinishBundle(BundleOutput<Outs>&...);                    // behind the last; or without
//   void FinishBundle(BundleFinalizer&, BundleOutput<Outs>&...);  // arguments
//   void Teardown();     // once, when the worker's run is over; not after a crash
//
// A bundle is what a worker processes between two epoch markers, at most: it ends before a marker, and
// before the watermark passes the least timestamp in it, so that what FinishBundle puts out is not
// late. A DoFn that throws in one of these fails the job, whatever its failure policy: no element is to
// blame. The next run then processes the bundle again, since its epoch was never sealed.
#ifndef HORNBEAM_ENGINE_OPERATORS_DO_FN_LIFECYCLE_H_
#define HORNBEAM_ENGINE_OPERATORS_DO_FN_LIFECYCLE_H_

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/operators/bundle_finalizer.h"
#include "engine/operators/failed_call.h"
#include "engine/operators/output_receiver.h"

namespace hornbeam::engine {

// The user's object in an operator's function, which may be a wrapper around it.
template <typename Fn>
auto& DoFnOf(Fn& fn) {
  if constexpr (requires { fn.do_fn(); }) {
    return fn.do_fn();
  } else {
    return fn;
  }
}

template <typename Fn, typename... Outs>
class DoFnLifecycle {
  using DoFn = std::remove_reference_t<decltype(DoFnOf(std::declval<Fn&>()))>;
  static constexpr bool kHasSetup = requires(DoFn& f) { f.Setup(); };
  static constexpr bool kHasTeardown = requires(DoFn& f) { f.Teardown(); };
  static constexpr bool kStarts = requires(DoFn& f) { f.StartBundle(); };
  static constexpr bool kFinishesBare = requires(DoFn& f) { f.FinishBundle(); };
  static constexpr bool kFinishesWithOutputs =
      requires(DoFn& f, BundleOutput<Outs>&... outputs) { f.FinishBundle(outputs...); };
  static constexpr bool kFinishesWithFinalizer = requires(
      DoFn& f, BundleFinalizer& z, BundleOutput<Outs>&... outputs) { f.FinishBundle(z, outputs...); };

 public:
  static constexpr bool kHasBundles =
      kStarts || kFinishesBare || kFinishesWithOutputs || kFinishesWithFinalizer;

  explicit DoFnLifecycle(Fn* fn) : fn_(fn) {}
  DoFnLifecycle(const DoFnLifecycle&) = delete;
  ~DoFnLifecycle() {
    if constexpr (kHasTeardown) {
      if (is_set_up_) (void)ErrorOf([this] { DoFnOf(*fn_).Teardown(); });
    }
  }

  Status Setup() {
    is_set_up_ = true;
    if constexpr (kHasSetup) return Call("Setup", [this] { DoFnOf(*fn_).Setup(); });
    return absl::OkStatus();
  }

  // Elements of these timestamps come next.
  Status BeforeElements(const std::vector<model::EventTime>& timestamps) {
    if constexpr (kHasBundles) {
      if (!timestamps.empty()) {
        least_ = std::min(least_, *std::min_element(timestamps.begin(), timestamps.end()));
      }
      if (std::exchange(is_open_, true)) return absl::OkStatus();
      if constexpr (kStarts) return Call("StartBundle", [this] { DoFnOf(*fn_).StartBundle(); });
    }
    return absl::OkStatus();
  }
  // Ends the bundle where the watermark would pass an element of it. What the DoFn puts out is left
  // in `receivers`.
  Status BeforeWatermark(model::EventTime watermark, Receivers<Outs...>* receivers,
                         BundleFinalizer* finalizer) {
    return watermark > least_ ? FinishBundle(receivers, finalizer) : absl::OkStatus();
  }
  Status FinishBundle(Receivers<Outs...>* receivers, BundleFinalizer* finalizer) {
    if constexpr (kHasBundles) {
      if (!std::exchange(is_open_, false)) return absl::OkStatus();
      least_ = model::EventTime::Max();
      return Call("FinishBundle", [&] { CallFinishBundle(receivers, finalizer); });
    }
    return absl::OkStatus();
  }

 private:
  void CallFinishBundle(Receivers<Outs...>* receivers, BundleFinalizer* finalizer) {
    auto& do_fn = DoFnOf(*fn_);
    if constexpr (kFinishesWithFinalizer) {
      receivers->ApplyToBundle([&](auto&... outputs) { do_fn.FinishBundle(*finalizer, outputs...); });
    } else if constexpr (kFinishesWithOutputs) {
      receivers->ApplyToBundle([&](auto&... outputs) { do_fn.FinishBundle(outputs...); });
    } else if constexpr (kFinishesBare) {
      do_fn.FinishBundle();
    }
  }
  template <typename F>
  static Status Call(const char* method, F f) {
    const std::optional<std::string> error = ErrorOf(f);
    if (!error) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat(method, " failed: ", *error));
  }

  Fn* const fn_;
  bool is_set_up_ = false;
  bool is_open_ = false;
  model::EventTime least_ = model::EventTime::Max();  // of the open bundle
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_DO_FN_LIFECYCLE_H_
