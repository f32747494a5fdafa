// One side input on one worker: its views by window, and how far its event time has come.
#ifndef HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_H_
#define HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_H_

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/operators/side_view.h"
#include "model/coder.h"
#include "model/element_bytes.h"
#include "model/window.h"

namespace hornbeam::engine {

template <typename View>
class SideInput {
  using Element = typename View::Element;

 public:
  explicit SideInput(model::WindowFn window_fn)
      : window_fn_(std::move(window_fn)), empty_(std::make_shared<const View>(View::Make({}))) {}

  model::Window WindowOf(const model::Window& main) const { return window_fn_.OfMainWindow(main); }

  // A pane has come: the newest counts.
  void Put(const SideUpdate<View>& update) {
    views_[update.window] = update.view;
    changed_.insert(update.window);
  }
  void AdvanceWatermark(model::EventTime watermark) { watermark_ = std::max(watermark_, watermark); }

  // What an element sees whose window is mapped to `window`: null while it has to wait. Where nothing came by the end of the window
  // it is empty.
  std::shared_ptr<const View> Find(const model::Window& window) const {
    const auto at = views_.find(window);
    if (at != views_.end()) return at->second;
    return window.IsPassedBy(watermark_) ? empty_ : nullptr;
  }

  // No element will ask for windows that end before `t` any more.
  void DropBefore(model::EventTime t) {
    std::erase_if(views_, [&](const auto& entry) {
      if (entry.first.MaxTimestamp() >= t) return false;
      changed_.insert(entry.first);
      return true;
    });
  }

  // For the log: what has changed since the last call or ForgetChanges, of each window its newest pane; all of it; and back.
  std::string TakeChanges() {
    std::string changes;
    for (const model::Window& window : changed_) {
      if (const auto at = views_.find(window); at != views_.end()) {
        LogPut(window, *at->second, &changes);
      } else {
        changes.push_back(static_cast<char>(ViewOp::kDrop));
        model::PutWindow(&changes, window);
      }
    }
    changed_.clear();
    return changes;
  }
  // Another worker records them.
  void ForgetChanges() { changed_.clear(); }
  void LogAll(std::string* out) const {
    for (const auto& [window, view] : views_) LogPut(window, *view, out);
  }
  void Clear() { views_.clear(); }
  Status Restore(std::string_view payload) {
    ByteReader in(payload);
    while (in.ok() && !in.done()) {
      const auto op = static_cast<ViewOp>(in.Byte());
      const model::Window window = model::ReadWindow(in);
      if (op == ViewOp::kDrop) {
        views_.erase(window);
        continue;
      }
      std::vector<Element> elements;
      if (op != ViewOp::kPut || !model::Coder<std::vector<Element>>::Decode(in, &elements)) return Malformed();
      views_[window] = std::make_shared<const View>(View::Make(std::move(elements)));
    }
    return in.ok() ? absl::OkStatus() : Malformed();
  }

 private:
  enum class ViewOp : uint8_t { kPut = 1, kDrop = 2 };

  static Status Malformed() { return absl::DataLossError("the log holds a malformed view of a side input"); }
  static void LogPut(const model::Window& window, const View& view, std::string* out) {
    out->push_back(static_cast<char>(ViewOp::kPut));
    model::PutWindow(out, window);
    model::Coder<std::vector<Element>>::Encode(view.Elements(), out);
  }

  const model::WindowFn window_fn_;
  const std::shared_ptr<const View> empty_;
  std::map<model::Window, std::shared_ptr<const View>> views_;
  model::EventTime watermark_ = model::EventTime::Min();
  std::set<model::Window> changed_;  // to be logged
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_H_
