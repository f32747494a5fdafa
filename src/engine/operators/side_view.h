// What a side input is to a DoFn: an immutable view of a collection's elements in one window, shared by all workers.
//
// A View type has
//   using Element;                                      // of the collection
//   static View Make(std::vector<Element> elements);    // of one pane
//   std::vector<Element> Elements() const;              // from which an equal view can be made
//   const Seen& Get() const;                            // what the DoFn sees; may throw, which fails the element at hand
#ifndef HORNBEAM_ENGINE_OPERATORS_SIDE_VIEW_H_
#define HORNBEAM_ENGINE_OPERATORS_SIDE_VIEW_H_

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/kv.h"
#include "model/window.h"

namespace hornbeam::engine {

// One pane of a side input, on its way to all workers.
template <typename View>
struct SideUpdate {
  model::Window window;
  std::shared_ptr<const View> view;
  // Where panes accumulate, all elements of this one: those of the window's last pane come first, in their order. Otherwise null.
  std::shared_ptr<const std::vector<typename View::Element>> accumulated{};
};

// Exactly one element; what there is instead where there is none, if anything.
template <typename T>
class SingletonView {
 public:
  using Element = T;
  static SingletonView Make(std::vector<T> elements) { return SingletonView(std::move(elements)); }
  const std::vector<T>& Elements() const { return elements_; }
  const T& Get() const {
    if (elements_.size() == 1) return elements_[0];
    throw std::out_of_range(absl::StrCat("the side input has ", elements_.size(),
                                         " elements in this window, where it is read as the only one; give it a default, or read "
                                         "it as a list"));
  }
  const T& GetOr(const T& otherwise) const { return elements_.empty() ? otherwise : Get(); }

 private:
  explicit SingletonView(std::vector<T> elements) : elements_(std::move(elements)) {}
  std::vector<T> elements_;
};

// All elements, in no particular order.
template <typename T>
class ListView {
 public:
  using Element = T;
  static ListView Make(std::vector<T> elements) { return ListView(std::move(elements)); }
  const std::vector<T>& Elements() const { return elements_; }
  const std::vector<T>& Get() const { return elements_; }

 private:
  explicit ListView(std::vector<T> elements) : elements_(std::move(elements)) {}
  std::vector<T> elements_;
};

// Values by key. A key that comes twice is an error, as in Beam.
template <typename K, typename V>
class MapView {
 public:
  using Element = model::KV<K, V>;
  static MapView Make(std::vector<Element> elements) {
    MapView view;
    for (Element& element : elements) {
      if (!view.map_.emplace(std::move(element.key), std::move(element.value)).second) view.has_duplicates_ = true;
    }
    return view;
  }
  std::vector<Element> Elements() const {
    std::vector<Element> elements;
    for (const auto& [key, value] : map_) elements.push_back({key, value});
    // One that comes twice, so that the view which is made of these is an error as well.
    if (has_duplicates_ && !elements.empty()) elements.push_back(elements[0]);
    return elements;
  }
  const absl::flat_hash_map<K, V>& Get() const {
    if (has_duplicates_) throw std::invalid_argument("the side input has a key twice in this window, where it is read as a map; "
                                                     "combine by key before, or read it as a multimap");
    return map_;
  }

 private:
  absl::flat_hash_map<K, V> map_;
  bool has_duplicates_ = false;
};

// All values of each key.
template <typename K, typename V>
class MultimapView {
 public:
  using Element = model::KV<K, V>;
  static MultimapView Make(std::vector<Element> elements) {
    MultimapView view;
    for (Element& element : elements) view.map_[std::move(element.key)].push_back(std::move(element.value));
    return view;
  }
  std::vector<Element> Elements() const {
    std::vector<Element> elements;
    for (const auto& [key, values] : map_) {
      for (const V& value : values) elements.push_back({key, value});
    }
    return elements;
  }
  const absl::flat_hash_map<K, std::vector<V>>& Get() const { return map_; }

 private:
  absl::flat_hash_map<K, std::vector<V>> map_;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_OPERATORS_SIDE_VIEW_H_
