// One side input on one worker: its views by window, and how far its event time has come.
#ifndef HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_H_
#define HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
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
    BuildRestored();
    Shown& shown = views_[update.window];
    shown.view = update.view;
    shown.accumulated = update.accumulated;
    changed_.insert(update.window);
  }
  void AdvanceWatermark(model::EventTime watermark) { watermark_ = std::max(watermark_, watermark); }

  // What an element sees whose window is mapped to `window`: null while it has to wait. Where nothing came by the end of the window
  // it is empty.
  std::shared_ptr<const View> Find(const model::Window& window) {
    BuildRestored();
    const auto at = views_.find(window);
    if (at != views_.end()) return at->second.view;
    return window.IsPassedBy(watermark_) ? empty_ : nullptr;
  }

  // No element will ask for windows that end before `t` any more.
  void DropBefore(model::EventTime t) {
    BuildRestored();
    std::erase_if(views_, [&](const auto& entry) {
      if (entry.first.MaxTimestamp() >= t) return false;
      changed_.insert(entry.first);
      return true;
    });
  }

  // For the log: what has changed since the last call or ForgetChanges, of each window its newest pane, or what that has more than
  // the last one; all of it; and back.
  std::string TakeChanges() {
    std::string changes;
    for (const model::Window& window : changed_) {
      if (const auto at = views_.find(window); at != views_.end()) {
        LogPane(window, at->second, &changes);
      } else {
        changes.push_back(static_cast<char>(ViewOp::kDrop));
        model::PutWindow(&changes, window);
      }
    }
    changed_.clear();
    return changes;
  }
  // Another worker records them.
  void ForgetChanges() {
    for (const model::Window& window : changed_) {
      if (const auto at = views_.find(window); at != views_.end()) at->second.accumulated = nullptr;
    }
    changed_.clear();
  }
  // REQUIRES: there are no changes to be taken.
  void LogAll(std::string* out) {
    BuildRestored();
    for (auto& [window, shown] : views_) {
      const std::vector<Element> elements = shown.view->Elements();
      LogElements(ViewOp::kPut, window, elements, out);
      if (shown.logged != elements.size()) shown.logged = 0;  // a view that is an error keeps less than it was made of
    }
  }
  void Clear() {
    views_.clear();
    restored_.clear();
  }
  // Before anything else but Clear.
  Status Restore(std::string_view payload) {
    ByteReader in(payload);
    while (in.ok() && !in.done()) {
      const auto op = static_cast<ViewOp>(in.Byte());
      const model::Window window = model::ReadWindow(in);
      if (op == ViewOp::kDrop) {
        restored_.erase(window);
        continue;
      }
      std::vector<Element> elements;
      if ((op != ViewOp::kPut && op != ViewOp::kAppend) || !model::Coder<std::vector<Element>>::Decode(in, &elements)) return Malformed();
      std::vector<Element>& all = restored_[window];
      if (op == ViewOp::kPut) all.clear();
      all.insert(all.end(), std::make_move_iterator(elements.begin()), std::make_move_iterator(elements.end()));
    }
    return in.ok() ? absl::OkStatus() : Malformed();
  }

 private:
  enum class ViewOp : uint8_t { kPut = 1, kDrop = 2, kAppend = 3 };
  struct Shown {
    std::shared_ptr<const View> view;
    std::shared_ptr<const std::vector<Element>> accumulated;  // as long as the log does not have all of it
    size_t logged = 0;  // of the elements of an accumulating pane, how many, from the first on, the log has; 0: nobody knows
  };

  static Status Malformed() { return absl::DataLossError("the log holds a malformed view of a side input"); }
  static void LogElements(ViewOp op, const model::Window& window, const std::vector<Element>& elements, std::string* out) {
    out->push_back(static_cast<char>(op));
    model::PutWindow(out, window);
    model::Coder<std::vector<Element>>::Encode(elements, out);
  }
  static void LogPane(const model::Window& window, Shown& shown, std::string* out) {
    const auto all = std::exchange(shown.accumulated, nullptr);
    if (all == nullptr) {
      shown.logged = 0;
      return LogElements(ViewOp::kPut, window, shown.view->Elements(), out);
    }
    if (shown.logged == 0 || shown.logged > all->size()) {
      LogElements(ViewOp::kPut, window, *all, out);
    } else if (shown.logged < all->size()) {
      LogElements(ViewOp::kAppend, window, {all->begin() + static_cast<std::ptrdiff_t>(shown.logged), all->end()}, out);
    }
    shown.logged = all->size();
  }
  // Once, after all of Restore: a view may have been logged in many parts.
  void BuildRestored() {
    if (restored_.empty()) return;
    for (auto& [window, elements] : restored_) {
      const size_t logged = elements.size();
      views_[window] = {std::make_shared<const View>(View::Make(std::move(elements))), nullptr, logged};
    }
    restored_.clear();
  }

  const model::WindowFn window_fn_;
  const std::shared_ptr<const View> empty_;
  std::map<model::Window, Shown> views_;
  std::map<model::Window, std::vector<Element>> restored_;  // of which no view has been made yet
  model::EventTime watermark_ = model::EventTime::Min();
  std::set<model::Window> changed_;  // to be logged
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_SIDE_INPUT_H_
