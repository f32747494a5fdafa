// Keyed state by window and key slice: one Table for each (window, slice) that has any.
//
// A window's tables go all at once when it expires. Elements mostly lie in the window of the element before them, so that one is
// remembered.
#ifndef HORNBEAM_ENGINE_STATE_WINDOW_SLICES_H_
#define HORNBEAM_ENGINE_STATE_WINDOW_SLICES_H_

#include <array>
#include <map>
#include <memory>
#include <utility>

#include "model/key_hash.h"
#include "model/window.h"

namespace hornbeam::engine {

// Single-threaded. A Table has a member `slice`, which is set here. Pointers to windows and tables hold until the window is dropped.
template <typename Table, typename PerWindow>
class WindowSlices {
 public:
  struct WindowEntry {
    explicit WindowEntry(const model::Window& w) : window(w) {}

    const model::Window window;
    PerWindow state{};  // what the operator keeps once for the window
    std::array<std::unique_ptr<Table>, model::kKeySlices> tables;

    Table& table(uint32_t slice) {
      std::unique_ptr<Table>& at = tables[slice];
      if (at == nullptr) {
        at = std::make_unique<Table>();
        at->slice = slice;
      }
      return *at;
    }
  };

  // Made when there was none; *is_new tells.
  WindowEntry& FindOrAdd(const model::Window& window, bool* is_new) {
    *is_new = false;
    if (last_ != nullptr && last_->window == window) return *last_;
    std::unique_ptr<WindowEntry>& at = windows_[Order{window}];
    if (at == nullptr) {
      at = std::make_unique<WindowEntry>(window);
      *is_new = true;
    }
    last_ = at.get();
    return *last_;
  }
  WindowEntry& FindOrAdd(const model::Window& window) {
    bool is_new = false;
    return FindOrAdd(window, &is_new);
  }
  WindowEntry* Find(const model::Window& window) {
    const auto at = windows_.find(Order{window});
    return at == windows_.end() ? nullptr : at->second.get();
  }
  void Drop(const model::Window& window) {
    if (last_ != nullptr && last_->window == window) last_ = nullptr;
    windows_.erase(Order{window});
  }

  bool empty() const { return windows_.empty(); }
  // The one that ends first. REQUIRES: !empty().
  WindowEntry& First() { return *windows_.begin()->second; }
  size_t size() const { return windows_.size(); }

  // In the order of their ends. `visit` must not add or drop windows.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (auto& [order, entry] : windows_) visit(*entry);
  }

 private:
  struct Order {
    model::Window window;
    friend bool operator<(const Order& a, const Order& b) {
      return std::pair(a.window.end, a.window.start) < std::pair(b.window.end, b.window.start);
    }
  };

  std::map<Order, std::unique_ptr<WindowEntry>> windows_;
  WindowEntry* last_ = nullptr;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_STATE_WINDOW_SLICES_H_
